/**
 * Prints how a run differs from earlier results. Measures each row that fell once more first.
 */
import { compareResults, type Fall, hasFallen, toPercent, toRowId } from "./compareResults.ts"
import type { Row } from "./report.ts"
import type { Results } from "./results.ts"

export type Measure = () => Promise<ReadonlyArray<Row>>

/** Measures the rows that fell again. Rows of one measurement are measured together. */
const measureAgain = async (
  falls: ReadonlyArray<Fall>,
  measures: ReadonlyMap<string, Measure>
): Promise<ReadonlyMap<string, number>> => {
  const again = new Set(falls.flatMap(({ row }) => measures.get(toRowId(row)) ?? []))
  const ratios = new Map<string, number>()
  for (const measure of again) for (const row of await measure()) ratios.set(toRowId(row), row.ratio.median)
  return ratios
}

const formatRow = ({ name, comparedWith }: Row): string => `${name} ÷ ${comparedWith}`
const formatList = (rows: ReadonlyArray<Row>): string => rows.map((row) => `\n  ${formatRow(row)}`).join("")

const formatFall = ({ row, before, now }: Fall, again: number): string => {
  const formatChange = (ratio: number) => `${ratio.toFixed(2)} (${toPercent(before, ratio)} %)`
  return `  ${formatRow(row)}: ${before.toFixed(2)} before, ${formatChange(now)} now, ${formatChange(again)} when measured again`
}

/** Returns whether a row fell in both measurements, or a limit that was kept is exceeded. */
export const checkResults = async (
  before: Results,
  now: Results,
  { measures, isPartial }: { readonly measures: ReadonlyMap<string, Measure>; readonly isPartial: boolean }
): Promise<boolean> => {
  const { warnings, falls, newRows, missingRows, exceededLimits } = compareResults(before, now)
  console.log(`\nCompared with the results of ${before.day}`)
  for (const warning of warnings) console.log(warning)
  const ratios = await measureAgain(falls, measures)
  const getAgain = ({ row, now }: Fall): number => ratios.get(toRowId(row)) ?? now
  const fellTwice = falls.filter((fall) => hasFallen(fall.before, getAgain(fall)))
  const fellOnce = falls.filter((fall) => !fellTwice.includes(fall))
  const print = (title: string, list: ReadonlyArray<Fall>) => {
    if (list.length > 0) console.log([title, ...list.map((fall) => formatFall(fall, getAgain(fall)))].join("\n"))
  }
  print("Fell by more than 15 %:", fellTwice)
  print("Fell by more than 15 %, but not when measured again:", fellOnce)
  if (newRows.length > 0) console.log(`New:${formatList(newRows)}`)
  if (missingRows.length > 0 && !isPartial) console.log(`Missing:${formatList(missingRows)}`)
  for (const { name, value, limit, unit, before } of exceededLimits) {
    const earlier = before === undefined ? "" : `, ${before.toFixed(0)} ${unit} before`
    console.log(`Exceeds its limit of ${limit} ${unit}: ${name}, ${value.toFixed(0)} ${unit}${earlier}`)
  }
  if (falls.length === 0 && now.rows.length > 0) console.log("No ratio fell by more than 15 %")
  return fellTwice.length > 0 || exceededLimits.some(({ before, limit }) => before !== undefined && before <= limit)
}
