/**
 * `npm run bench` runs all benchmarks. With `--quick` it takes less than two minutes: fewer keys, and fewer and shorter
 * rounds. With `--only events` it runs those whose names contain this text, and nothing else. With `--save`,
 * it then adds them to the last results. With `--check` it compares with the results of the last run without it, and fails
 * if a ratio fell.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { type Adapter, adapters } from "./adapters.ts"
import { checkResults, type Measure } from "./checkResults.ts"
import { toRowId } from "./compareResults.ts"
import { ensureBuilt } from "./ensureBuilt.ts"
import { measureFirstView } from "./firstView.ts"
import { measureHttp } from "./http.ts"
import { measureListing } from "./listing.ts"
import { mergeResults } from "./mergeResults.ts"
import { printResults } from "./printResults.ts"
import { type Row, toSvg } from "./report.ts"
import { openResources, type Resources } from "./resources.ts"
import type { Results } from "./results.ts"
import { runInChildProcess, scenarios } from "./scenarios.ts"
import { measureSearching } from "./searching.ts"
import { measureStartup } from "./startup.ts"
import { measureUpload } from "./upload.ts"

const { values } = parseArgs({
  options: {
    quick: { type: "boolean" },
    only: { type: "string" },
    check: { type: "boolean" },
    save: { type: "boolean" }
  }
})
const isQuick = values.quick === true
const isPartial = values.only !== undefined
const effort = isQuick ? { rounds: 5, milliseconds: 60 } : { rounds: 15, milliseconds: 200 }
const keys = isQuick ? 10_000 : 100_000
const manyKeys = isQuick ? 20_000 : 1_000_000

const folder = new URL("../results/", import.meta.url)
/** A quick run has no committed results. Without earlier ones of this machine, it is compared with those of a full run. */
const readEarlierResults = (): Results => {
  const quick = new URL("quick.json", folder)
  const file = isQuick && existsSync(quick) ? quick : new URL("latest.json", folder)
  return JSON.parse(readFileSync(file, "utf8"))
}
const earlierResults = values.check === true ? readEarlierResults() : undefined

const machine = `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model || process.arch}`
const day = new Date().toISOString().slice(0, 10)
console.log(`${machine}, ${day}`)
console.log("PostgreSQL runs with its default settings: fsync and synchronous_commit are on")

const isWanted = (name: string): boolean => name.toLowerCase().includes(values.only?.toLowerCase() ?? "")
if (isWanted("startup")) ensureBuilt(["core", "sqlite"])

const rows: Array<Row> = []
/** How to measure a row again, by the id of the row. */
const measures = new Map<string, Measure>()
const addRows = async (measure: Measure) => {
  const newRows = await measure()
  rows.push(...newRows)
  for (const row of newRows) {
    measures.set(toRowId(row), measure)
    console.log(`${row.ratio.median.toFixed(2)}  ${row.name} ÷ ${row.comparedWith}`)
    if (row.bytesPerKey !== undefined) console.log(`      ${Math.round(row.bytesPerKey)} bytes per key`)
  }
}

/** A folder and servers for one measurement: a checkpoint or an autovacuum after an earlier one would disturb the next. */
const withResources = <A>(run: (resources: Resources) => Promise<A>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(openResources, (resources) => Effect.promise(() => run(resources)))))

for (const name of Object.keys(scenarios).filter(isWanted)) {
  await addRows(() => withResources((resources) => runInChildProcess(name, { resources, keys, manyKeys, effort })))
}
if (isWanted("http")) await addRows(() => measureHttp(effort))

const measureAll = async <A>(measure: (adapter: Adapter) => Effect.Effect<ReadonlyArray<A>, unknown>) =>
  (
    await Effect.runPromise(Effect.forEach(adapters, (adapter) => Effect.scoped(Effect.flatMap(adapter, measure))))
  ).flat()

const results: Results = {
  day,
  machine,
  keys,
  effort,
  rows,
  ...(isWanted("startup")
    ? { starts: await withResources((resources) => measureStartup(resources, keys, isQuick ? 5 : 15)) }
    : {}),
  ...(isWanted("listing") ? { listing: await measureAll(measureListing) } : {}),
  ...(isWanted("searching") ? { searching: await measureAll(measureSearching) } : {}),
  ...(isWanted("upload") ? { upload: await Effect.runPromise(measureUpload) } : {}),
  ...(isWanted("firstView") ? { firstViews: await measureFirstView(isQuick ? 5 : 15) } : {})
}
printResults(results)

if (!isPartial || values.save === true) {
  // A check does not replace what it compares with.
  const name = values.check === true ? "check" : isQuick ? "quick" : "latest"
  const file = new URL(`${name}.json`, folder)
  const earlier = isPartial && existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined
  const saved = mergeResults(earlier, results)
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, `${JSON.stringify(saved, null, 2)}\n`)
  writeFileSync(
    new URL(`${name}.svg`, folder),
    toSvg(
      saved.rows.filter(({ target }) => target !== undefined),
      `Throughput of Tollgate relative to the baseline, and the goals. ${machine}, ${day}`
    )
  )
  console.log(`Results written to packages/bench/results/${name}.json and ${name}.svg`)
  if (name === "latest") console.log("Update docs/design/measurements.md with: npm run build:docs")
}
if (earlierResults !== undefined && (await checkResults(earlierResults, results, { measures, isPartial })))
  process.exitCode = 1
