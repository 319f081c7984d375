/**
 * `npm run bench`: what the design promises, measured.
 */
import { cpus } from "node:os"
import { Effect } from "effect"
import { adapters } from "./adapters.ts"
import { measureListing } from "./listing.ts"
import { measureUpload } from "./upload.ts"

const listing = Effect.forEach(adapters, (adapter) => Effect.scoped(Effect.flatMap(adapter, measureListing)))

console.log(`Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model || process.arch}`)
console.log("Listing 100 of 50,000 records by two terms; at most 25 ms")
console.table(
  (await Effect.runPromise(listing)).flat().map(({ adapter, page, milliseconds, spread, withinBound }) => ({
    adapter,
    page,
    "median ms": Number(milliseconds.toFixed(2)),
    "ms from … to": spread,
    "within 25 ms": withinBound
  }))
)

const { uploaded, before, peak, growth, withinBound } = await Effect.runPromise(measureUpload)
console.log("What an upload adds to the memory of its server's process; at most 30 MiB")
console.table([
  {
    uploaded,
    "MiB before": Number(before.toFixed(1)),
    "MiB at the peak": Number(peak.toFixed(1)),
    "MiB more": Number(growth.toFixed(1)),
    "within 30 MiB": withinBound
  }
])
