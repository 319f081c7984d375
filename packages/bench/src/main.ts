/**
 * `npm run bench`: everything that the design promises of speed, measured in one run. With `--quick`, in less than two
 * minutes: fewer keys, fewer and shorter rounds.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { Effect } from "effect"
import { adapters } from "./adapters.ts"
import { overHttp } from "./http.ts"
import { measureListing } from "./listing.ts"
import { type Row, toSvg, toTable } from "./report.ts"
import { openResources } from "./resources.ts"
import { runInChildProcess, scenarios } from "./scenarios.ts"
import { startup } from "./startup.ts"
import { measureUpload } from "./upload.ts"

const isQuick = process.argv.includes("--quick")
const effort = isQuick ? { rounds: 5, milliseconds: 60 } : { rounds: 15, milliseconds: 200 }
const keys = isQuick ? 10_000 : 100_000

const machine = `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model || process.arch}`
const day = new Date().toISOString().slice(0, 10)
console.log(`${machine}, ${day}`)

const rows: Array<Row> = []
const measureRows = async (made: Promise<Row | ReadonlyArray<Row>>) => {
  const found = [await made].flat()
  rows.push(...found)
  for (const { work, against, ratio } of found) console.log(`${ratio.median.toFixed(2)}  ${work} ÷ ${against}`)
}

const compareRows = Effect.scoped(
  Effect.flatMap(openResources, (where) =>
    Effect.promise(async () => {
      for (const index of scenarios.keys()) await measureRows(runInChildProcess(index, { where, keys, effort }))
      await measureRows(overHttp(effort))
      return startup(where, keys, isQuick ? 3 : 7)
    })
  )
)
const started = await Effect.runPromise(compareRows)
console.log("\nOurs to theirs, in the median of all rounds, none of which is discarded")
console.table(toTable(rows))

const listing = (
  await Effect.runPromise(Effect.forEach(adapters, (adapter) => Effect.scoped(Effect.flatMap(adapter, measureListing))))
).flat()
console.log("A page of 100 out of 50,000 records that carry two terms; at most 25 ms")
console.table(
  listing.map(({ adapter, page, milliseconds, spread, withinBound }) => ({
    adapter,
    page,
    "median ms": Number(milliseconds.toFixed(2)),
    "ms from … to": spread,
    "within 25 ms": withinBound
  }))
)

const upload = await Effect.runPromise(measureUpload)
console.log("What an upload adds to the memory of its server's process; at most 30 MiB")
console.table([
  {
    uploaded: upload.uploaded,
    "MiB before": Number(upload.before.toFixed(1)),
    "MiB at the peak": Number(upload.peak.toFixed(1)),
    "MiB more": Number(upload.growth.toFixed(1)),
    "within 30 MiB": upload.withinBound
  }
])
console.log("From the start of a process to its first verified key, on a SQLite file")
console.table([
  {
    keys: started.keys,
    "median ms": Math.round(started.milliseconds.median),
    "ms from … to": `${Math.round(started.milliseconds.low)} to ${Math.round(started.milliseconds.high)}`,
    "MiB then": Math.round(started.mebibytes)
  }
])

const results = new URL("../results/", import.meta.url)
mkdirSync(results, { recursive: true })
const name = isQuick ? "quick" : "latest"
const report = { day, machine, keys, effort, rows, listing, upload, startup: started }
writeFileSync(new URL(`${name}.json`, results), `${JSON.stringify(report, null, 2)}\n`)
writeFileSync(
  new URL(`${name}.svg`, results),
  toSvg(rows, `Tollgate to what it is measured against. ${machine}, ${day}`)
)
console.log(`Written to packages/bench/results/${name}.json and ${name}.svg`)
