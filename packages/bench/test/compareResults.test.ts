import { describe, expect, it } from "@effect/vitest"
import { compareResults, hasFallen, toPercent, toRowId } from "../src/compareResults.ts"
import type { Row } from "../src/report.ts"
import type { Results } from "../src/results.ts"

const makeRow = (name: string, median: number, comparedWith = "by hand"): Row => ({
  name,
  comparedWith,
  ours: 100,
  baseline: 100,
  ratio: { median, low: median, high: median }
})

const makeResults = (fields: Partial<Results>): Results => ({
  day: "2026-11-15",
  machine: "Node 24.21.0, 2 × Xeon",
  keys: 100_000,
  effort: { rounds: 15, milliseconds: 200 },
  rows: [],
  ...fields
})

const makeStart = (median: number) => ({
  name: "import @tollgate/core",
  milliseconds: { median, low: median, high: median },
  cpuMilliseconds: { median, low: median, high: median },
  mebibytes: 50,
  limit: 300
})

describe("compareResults", () => {
  it("finds the ratios that fell by more than 15 %", () => {
    const before = makeResults({ rows: [makeRow("verify", 1), makeRow("consume", 1), makeRow("create", 1)] })
    const now = makeResults({ rows: [makeRow("verify", 0.84), makeRow("consume", 0.86), makeRow("create", 2)] })
    const { falls } = compareResults(before, now)
    expect(falls.map(({ row, before, now }) => [row.name, before, now])).toEqual([["verify", 1, 0.84]])
    expect(toPercent(1, 0.84)).toBe(-16)
  })

  it("does not count a fall of exactly 15 %", () => {
    expect(hasFallen(2, 1.7)).toBe(false)
    expect(hasFallen(2, 1.69)).toBe(true)
  })

  it("distinguishes rows of the same name by what they are compared with", () => {
    const before = makeResults({ rows: [makeRow("consume", 1, "by hand"), makeRow("consume", 5, "a limiter")] })
    const now = makeResults({ rows: [makeRow("consume", 1, "by hand"), makeRow("consume", 1, "a limiter")] })
    expect(compareResults(before, now).falls.map(({ row }) => row.comparedWith)).toEqual(["a limiter"])
  })

  it("compares rows with different numbers of keys, and warns", () => {
    const before = makeResults({ rows: [makeRow("verify, memory, 100000 keys", 1)] })
    const now = makeResults({
      keys: 10_000,
      effort: { rounds: 5, milliseconds: 60 },
      rows: [makeRow("verify, memory, 10000 keys", 0.5)]
    })
    const { falls, warnings, newRows, missingRows } = compareResults(before, now)
    expect(falls).toHaveLength(1)
    expect([newRows, missingRows]).toEqual([[], []])
    expect(warnings).toEqual([
      "The number of keys differs, so the ratios are less comparable: 100000 before, 10000 now",
      "The effort differs, so the ratios are less comparable: 15 rounds of 200 ms before, 5 rounds of 60 ms now"
    ])
  })

  it("keeps the growth of a store apart from the comparison with code by hand", () => {
    expect(toRowId(makeRow("verify, memory, 100000 keys", 1, "the same with 1000 keys"))).not.toBe(
      toRowId(makeRow("verify, memory, 100000 keys", 1, "by hand"))
    )
  })

  it("warns about another processor or Node", () => {
    const now = makeResults({ machine: "Node 24.22.0, 2 × Neoverse-N1" })
    expect(compareResults(makeResults({}), now).warnings).toEqual([
      "The machine differs, so the ratios are less comparable: Node 24.21.0, 2 × Xeon before, Node 24.22.0, 2 × Neoverse-N1 now"
    ])
    expect(compareResults(now, now).warnings).toEqual([])
  })

  it("finds new and missing rows", () => {
    const { newRows, missingRows } = compareResults(
      makeResults({ rows: [makeRow("old", 1), makeRow("same", 1)] }),
      makeResults({ rows: [makeRow("same", 1), makeRow("new", 1)] })
    )
    expect([newRows, missingRows].map((rows) => rows.map(({ name }) => name))).toEqual([["new"], ["old"]])
  })

  it("finds exceeded limits, with what was measured before", () => {
    const page = { adapter: "Redis", page: "first", spread: "", isWithinLimit: false }
    const upload = { uploaded: "90 MiB", before: 100, peak: 131, growth: 31, isWithinLimit: false }
    const before = makeResults({ starts: [makeStart(250)], listing: [{ ...page, milliseconds: 25 }] })
    const now = makeResults({ starts: [makeStart(301)], listing: [{ ...page, milliseconds: 26 }], upload })
    expect(compareResults(before, now).exceededLimits.map(({ name, before, value }) => [name, before, value])).toEqual([
      ["list, Redis, first page", 25, 26],
      ["import @tollgate/core", 250, 301],
      ["upload, growth", undefined, 31]
    ])
    expect(compareResults(now, before).exceededLimits).toEqual([])
  })
})
