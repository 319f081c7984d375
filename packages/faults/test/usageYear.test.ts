/**
 * A subscription that uses two meters for a year, on every store: what is kept of it stays small, and its series stay
 * fast. Prints the sizes and times; asserts only sizes, because times depend on the machine. It uses them in every hour of
 * the last ten days, and before that in every eighth, which keeps as many days; set `USAGE_YEAR_HOURS=1` for all hours.
 */
import { Store, StoreContents, type StoreEntry } from "@tollgate/store"
import { Context, Effect, Exit, Layer, Option, Scope, Stream } from "effect"
import { expect, it } from "vitest"
import { sampleCases } from "./sample.ts"
import { secret, stores } from "./stores.ts"
import { makeMovableClock, openUsageGate, start } from "./usageGate.ts"
import { dayMs, hourMs } from "./usageReadings.ts"

const days = 365
const hoursBetween = Number(process.env["USAGE_YEAR_HOURS"] ?? 8)

const measureMs = async (call: () => Promise<unknown>): Promise<number> => {
  const times: Array<number> = []
  for (let run = 0; run < 5; run++) {
    const started = performance.now()
    await call()
    times.push(performance.now() - started)
  }
  return Math.round((times.sort((left, right) => left - right)[2] ?? 0) * 10) / 10
}

/** The number of entries and their bytes: names, bodies, index terms and 8 bytes for a counter. */
const measureSize = (entries: ReadonlyArray<StoreEntry>) => {
  const sizes = entries.map((entry) => {
    if (entry._tag === "Record") {
      const { key, body, indexTerms } = entry.record
      return Buffer.byteLength([key, body, ...indexTerms].join(""))
    }
    return entry._tag === "Counter" ? Buffer.byteLength(entry.name) + 8 : 0
  })
  return { count: entries.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

it.each([...stores.slice(0, 1), ...sampleCases(stores.slice(1), 1 / 3)])(
  "a busy year of a subscription takes little space, on %s",
  async (name, layer) => {
    const scope = Scope.makeUnsafe()
    const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
    const contents = Option.getOrThrow(Context.getOption(context, StoreContents))
    const readEntries = Effect.gen(function* () {
      // Some stores list a partition twice.
      const partitions = new Set(yield* Stream.runCollect(contents.partitions))
      const batches = yield* Effect.forEach(partitions, (partition) => Stream.runCollect(contents.read(partition)))
      return batches.flat(2)
    })
    const clock = makeMovableClock(start)
    const gate = await openUsageGate(Context.get(context, Store), clock, secret)
    const bucketId = await gate.createBucket()
    const subscription = await gate.subscribe(bucketId, "s", { requests: 1e9, tokens: 1e12 })
    const lastHour = start + days * dayMs - hourMs
    let uses = 0
    for (let now = start; now <= lastHour; now += (now < lastHour - 10 * dayMs ? hoursBetween : 1) * hourMs) {
      clock.set(now)
      await gate.consume(bucketId, subscription, { requests: 1_234, tokens: 567_890 })
      uses++
    }

    const readSeries = (step: "hour" | "day" | "period", length: number) =>
      gate.series(bucketId, subscription, step, lastHour - length)
    const year = await readSeries("day", days * dayMs)
    const sum = year.data.reduce((total, { meters }) => total + (meters["requests"] ?? 0), 0)
    expect(sum).toBe(uses * 1_234)

    const entries = await Effect.runPromise(readEntries)
    const isOfSubscription = (entry: StoreEntry) =>
      (entry._tag === "Record" && /^(usage|reservation)/.test(entry.record.key)) ||
      (entry._tag === "Counter" && /^(usage|held|reservation):/.test(entry.name))
    const own = entries.filter(isOfSubscription)
    const records = measureSize(own.filter(({ _tag }) => _tag === "Record"))
    const counters = measureSize(own.filter(({ _tag }) => _tag === "Counter"))
    const totals = measureSize(
      entries.filter((entry) => entry._tag === "Counter" && entry.name.startsWith("usage-day:"))
    )
    const times = [
      await measureMs(() => readSeries("day", (days - 1) * dayMs)),
      await measureMs(() => readSeries("day", 29 * dayMs)),
      await measureMs(() => readSeries("hour", 191 * hourMs)),
      await measureMs(() => gate.totals(bucketId, lastHour - (days - 1) * dayMs))
    ]
    console.log(
      `a year of usage, ${name}: ${records.count} records of ${records.bytes} bytes, ${counters.count} counters of ` +
        `${counters.bytes} bytes per subscription; ${totals.count} day counters of ${totals.bytes} bytes per bucket; ` +
        `${times[0]} ms for 365 days, ${times[1]} ms for 30 days, ${times[2]} ms for 192 hours, ${times[3]} ms for totals`
    )
    expect(records.count).toBeLessThanOrEqual(20)
    // Two meters in the period that is open, and in the one before it for a day.
    expect(counters.count).toBeLessThanOrEqual(4)
    expect(records.bytes + counters.bytes).toBeLessThan(40_000)
    expect(totals.count).toBeLessThanOrEqual(2 * (days + 1))
    await gate.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  },
  240_000
)
