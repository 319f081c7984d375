/**
 * `npm run bench` runs all benchmarks. With `--quick` it takes less than two minutes: fewer keys, and fewer and shorter
 * rounds. With `--only events` it runs the scenarios whose names contain this text, and nothing else.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { adapters } from "./adapters.ts"
import { measureFirstView } from "./firstView.ts"
import { measureHttp } from "./http.ts"
import { measureListing } from "./listing.ts"
import { type Row, toSvg, toTable } from "./report.ts"
import { openResources, type Resources } from "./resources.ts"
import { runInChildProcess, scenarios } from "./scenarios.ts"
import { measureStartup } from "./startup.ts"
import { measureUpload } from "./upload.ts"

const { values } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } })
const isQuick = values.quick === true
const effort = isQuick ? { rounds: 5, milliseconds: 60 } : { rounds: 15, milliseconds: 200 }
const keys = isQuick ? 10_000 : 100_000

const machine = `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model || process.arch}`
const day = new Date().toISOString().slice(0, 10)
console.log(`${machine}, ${day}`)
console.log("PostgreSQL runs with its default settings: fsync and synchronous_commit are on")

const rows: Array<Row> = []
const addRows = async (result: Promise<Row | ReadonlyArray<Row>>) => {
  const newRows = [await result].flat()
  rows.push(...newRows)
  for (const { name, comparedWith, ratio } of newRows) {
    console.log(`${ratio.median.toFixed(2)}  ${name} ÷ ${comparedWith}`)
  }
}

/** A folder and servers for one measurement: a checkpoint or an autovacuum after an earlier one would disturb the next. */
const withResources = <A>(run: (resources: Resources) => Promise<A>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(openResources, (resources) => Effect.promise(() => run(resources)))))

const wanted = values.only?.toLowerCase() ?? ""
for (const name of Object.keys(scenarios).filter((name) => name.toLowerCase().includes(wanted))) {
  await addRows(withResources((resources) => runInChildProcess(name, { resources, keys, effort })))
}
if (values.only !== undefined) process.exit()
await addRows(measureHttp(effort))
const startup = await withResources((resources) => measureStartup(resources, keys, isQuick ? 3 : 7))
console.log("\nThroughput of Tollgate relative to the baseline: median of all rounds, no round discarded")
console.table(toTable(rows))

const listing = (
  await Effect.runPromise(Effect.forEach(adapters, (adapter) => Effect.scoped(Effect.flatMap(adapter, measureListing))))
).flat()
console.log("A page of 100 out of 50,000 records that match two index terms; limit 25 ms")
console.table(
  listing.map(({ adapter, page, milliseconds, spread, isWithinLimit }) => ({
    adapter,
    page,
    "median ms": Number(milliseconds.toFixed(2)),
    "range ms": spread,
    "within 25 ms": isWithinLimit
  }))
)

const upload = await Effect.runPromise(measureUpload)
console.log("Memory growth of the server process during an upload; limit 30 MiB")
console.table([
  {
    uploaded: upload.uploaded,
    "MiB before": Number(upload.before.toFixed(1)),
    "peak MiB": Number(upload.peak.toFixed(1)),
    "growth MiB": Number(upload.growth.toFixed(1)),
    "within 30 MiB": upload.isWithinLimit
  }
])
console.log("Time and memory from process start to the first verified key, on a SQLite file")
console.table([
  {
    keys: startup.keys,
    "median ms": Math.round(startup.milliseconds.median),
    "range ms": `${Math.round(startup.milliseconds.low)} to ${Math.round(startup.milliseconds.high)}`,
    MiB: Math.round(startup.mebibytes)
  }
])
const firstViews = await measureFirstView(isQuick ? 5 : 15)
console.log("Time until the console shows its first view, in Chromium with an empty cache")
console.table(
  firstViews.map(({ view, milliseconds: { median, low, high } }) => ({
    view,
    "median ms": Math.round(median),
    "range ms": `${Math.round(low)} to ${Math.round(high)}`
  }))
)

const results = new URL("../results/", import.meta.url)
mkdirSync(results, { recursive: true })
const name = isQuick ? "quick" : "latest"
const report = { day, machine, keys, effort, rows, listing, upload, startup, firstViews }
writeFileSync(new URL(`${name}.json`, results), `${JSON.stringify(report, null, 2)}\n`)
writeFileSync(
  new URL(`${name}.svg`, results),
  toSvg(rows, `Throughput of Tollgate relative to the baseline. ${machine}, ${day}`)
)
console.log(`Results written to packages/bench/results/${name}.json and ${name}.svg`)
