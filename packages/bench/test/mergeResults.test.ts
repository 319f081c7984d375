import { expect, it } from "vitest"
import { mergeResults } from "../src/mergeResults.ts"
import type { Results } from "../src/results.ts"

const row = (name: string, median: number) => ({
  name,
  comparedWith: "by hand",
  ours: median,
  baseline: 1,
  ratio: { median, low: median, high: median }
})

const make = (rows: Results["rows"], changes: Partial<Results> = {}): Results => ({
  day: "2026-01-01",
  machine: "a",
  keys: 10,
  effort: { rounds: 1, milliseconds: 1 },
  rows,
  ...changes
})

it("replaces the rows that were measured again, and adds new ones", () => {
  const earlier = make([row("x", 1), row("y", 2)], { listing: [] })
  const merged = mergeResults(earlier, make([row("y", 3), row("z", 4)], { day: "2026-01-02" }))
  expect(merged.rows.map(({ name, ours }) => [name, ours])).toEqual([
    ["x", 1],
    ["y", 3],
    ["z", 4]
  ])
  expect(merged).toMatchObject({ day: "2026-01-02", listing: [] })
})

it.each([
  ["another machine", { machine: "b" }],
  ["another number of keys", { keys: 20 }],
  ["longer rounds", { effort: { rounds: 1, milliseconds: 2 } }]
])("drops results with %s", (_, changes) => {
  const now = make([row("y", 3)])
  expect(mergeResults(make([row("x", 1)], changes), now)).toEqual(now)
})
