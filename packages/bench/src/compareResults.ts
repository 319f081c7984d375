/**
 * Compares the results of a run with earlier ones: which ratios fell, which rows are new or missing, and which limits
 * are exceeded.
 */
import { limits } from "./limits.ts"
import type { Row } from "./report.ts"
import type { Results } from "./results.ts"

/** A ratio may fall by this share: the same code varies as much on a busy machine. */
const tolerance = 0.15

export interface Fall {
  readonly row: Row
  readonly before: number
  readonly now: number
}

export interface LimitCheck {
  readonly name: string
  readonly value: number
  readonly limit: number
  readonly unit: "ms" | "MiB"
}

export interface ExceededLimit extends LimitCheck {
  /** Undefined if the earlier results do not contain it. */
  readonly before: number | undefined
}

export interface Difference {
  /** Why the two are less comparable. */
  readonly warnings: ReadonlyArray<string>
  readonly falls: ReadonlyArray<Fall>
  readonly newRows: ReadonlyArray<Row>
  readonly missingRows: ReadonlyArray<Row>
  readonly exceededLimits: ReadonlyArray<ExceededLimit>
}

/** Identifies a row in runs with different numbers of keys. */
export const toRowId = ({ name, comparedWith }: Pick<Row, "name" | "comparedWith">): string =>
  `${name} ÷ ${comparedWith}`.replaceAll(/\d+ keys/g, "keys")

export const hasFallen = (before: number, now: number): boolean => now < before * (1 - tolerance)

/** The change in percent: negative if the ratio fell. */
export const toPercent = (before: number, now: number): number => Math.round((now / before - 1) * 100)

export const listLimits = ({
  listing = [],
  searching = [],
  upload,
  starts = []
}: Results): ReadonlyArray<LimitCheck> => [
  ...listing.map(({ adapter, page, milliseconds: value }) => ({
    name: `list, ${adapter}, ${page} page`,
    value,
    limit: limits.listMilliseconds,
    unit: "ms" as const
  })),
  ...searching.map(({ adapter, search, milliseconds: value }) => ({
    name: `search, ${adapter}, ${search}`,
    value,
    limit: limits.searchMilliseconds,
    unit: "ms" as const
  })),
  ...starts.flatMap(({ name, milliseconds, limit }) =>
    limit === undefined ? [] : [{ name, value: milliseconds.median, limit, unit: "ms" as const }]
  ),
  ...(upload === undefined
    ? []
    : [{ name: "upload, growth", value: upload.growth, limit: limits.uploadMebibytes, unit: "MiB" as const }])
]

const findWarnings = (before: Results, now: Results): ReadonlyArray<string> => {
  const describeEffort = ({ effort: { rounds, milliseconds } }: Results) => `${rounds} rounds of ${milliseconds} ms`
  const facts: ReadonlyArray<readonly [fact: string, before: string, now: string]> = [
    ["machine", before.machine, now.machine],
    ["number of keys", String(before.keys), String(now.keys)],
    ["effort", describeEffort(before), describeEffort(now)]
  ]
  return facts.flatMap(([fact, before, now]) =>
    before === now ? [] : [`The ${fact} differs, so the ratios are less comparable: ${before} before, ${now} now`]
  )
}

export const compareResults = (before: Results, now: Results): Difference => {
  const rowsBefore = new Map(before.rows.map((row) => [toRowId(row), row]))
  const idsNow = new Set(now.rows.map(toRowId))
  const limitsBefore = new Map(listLimits(before).map(({ name, value }) => [name, value]))
  return {
    warnings: findWarnings(before, now),
    falls: now.rows.flatMap((row) => {
      const ratioBefore = rowsBefore.get(toRowId(row))?.ratio.median
      return ratioBefore !== undefined && hasFallen(ratioBefore, row.ratio.median)
        ? [{ row, before: ratioBefore, now: row.ratio.median }]
        : []
    }),
    newRows: now.rows.filter((row) => !rowsBefore.has(toRowId(row))),
    missingRows: before.rows.filter((row) => !idsNow.has(toRowId(row))),
    exceededLimits: listLimits(now)
      .filter(({ value, limit }) => value > limit)
      .map((check) => ({ ...check, before: limitsBefore.get(check.name) }))
  }
}
