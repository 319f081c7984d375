/**
 * Prints the results of a run as tables.
 */
import { limits } from "./limits.ts"
import type { Spread } from "./measure.ts"
import { toTable } from "./report.ts"
import type { Results } from "./results.ts"

const round = ({ median, low, high }: Spread) => ({
  "median ms": Math.round(median),
  "range ms": `${Math.round(low)} to ${Math.round(high)}`
})

export const printResults = ({ rows, listing, searching, upload, starts, firstViews }: Results): void => {
  if (rows.length > 0) {
    console.log("\nThroughput of Tollgate relative to the baseline: median of all rounds, no round discarded")
    console.table(toTable(rows))
  }
  if (listing !== undefined) {
    console.log(`A page of 100 out of 50,000 records that match two index terms; limit ${limits.listMilliseconds} ms`)
    console.table(
      listing.map(({ adapter, page, milliseconds, spread, isWithinLimit }) => ({
        adapter,
        page,
        "median ms": Number(milliseconds.toFixed(2)),
        "range ms": spread,
        "within limit": isWithinLimit
      }))
    )
  }
  if (searching !== undefined) {
    console.log(`A search among 100,000 consumers; limit ${limits.searchMilliseconds} ms and two calls of the store`)
    console.table(
      searching.map(({ adapter, search, milliseconds, spread, storeCalls, isWithinLimit }) => ({
        adapter,
        search,
        "median ms": Number(milliseconds.toFixed(2)),
        "range ms": spread,
        "store calls": storeCalls,
        "within limit": isWithinLimit
      }))
    )
  }
  if (upload !== undefined) {
    console.log(`Memory growth of the server process during an upload; limit ${limits.uploadMebibytes} MiB`)
    console.table([
      {
        uploaded: upload.uploaded,
        "MiB before": Number(upload.before.toFixed(1)),
        "peak MiB": Number(upload.peak.toFixed(1)),
        "growth MiB": Number(upload.growth.toFixed(1)),
        "within limit": upload.isWithinLimit
      }
    ])
  }
  if (starts !== undefined) {
    console.log("Time and memory from the start of a process, on the built packages")
    console.table(
      starts.map(({ name, milliseconds, cpuMilliseconds, mebibytes, limit }) => ({
        "until the end of": name,
        ...round(milliseconds),
        "CPU ms": Math.round(cpuMilliseconds.median),
        MiB: Math.round(mebibytes),
        "limit ms": limit ?? "–",
        "within limit": limit === undefined ? "–" : milliseconds.median <= limit
      }))
    )
  }
  if (firstViews !== undefined) {
    console.log("Time until the console shows its first view, in Chromium with an empty cache")
    console.table(firstViews.map(({ view, milliseconds }) => ({ view, ...round(milliseconds) })))
  }
}
