import { toRowId } from "./compareResults.ts"
import type { Results } from "./results.ts"

const isSameSetup = (one: Results, other: Results): boolean =>
  one.machine === other.machine &&
  one.keys === other.keys &&
  one.effort.rounds === other.effort.rounds &&
  one.effort.milliseconds === other.effort.milliseconds

/**
 * Adds what a partial run has measured to earlier results. Results of another machine or with other numbers of keys and
 * rounds are dropped: their ratios do not belong in one table.
 */
export const mergeResults = (earlier: Results | undefined, now: Results): Results => {
  if (earlier === undefined || !isSameSetup(earlier, now)) return now
  const rowsNow = new Map(now.rows.map((row) => [toRowId(row), row]))
  const idsBefore = new Set(earlier.rows.map(toRowId))
  return {
    ...earlier,
    ...now,
    rows: [
      ...earlier.rows.map((row) => rowsNow.get(toRowId(row)) ?? row),
      ...now.rows.filter((row) => !idsBefore.has(toRowId(row)))
    ]
  }
}
