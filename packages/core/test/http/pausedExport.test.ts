/**
 * Exports to clients that read slowly: what they hold of the store while they do not read, and when they go away.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { Store, type StoreOperations } from "@tollgate/store"
import { waitForEvents } from "@tollgate/testing"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"

/** Four pages of 100, and the begin of a fifth. */
const customers = 402
const month = new Date().toISOString().slice(0, 7)

/** Counts the pages that are read, and the calls that the store has not answered yet. */
const count = (store: StoreOperations) => {
  const counts = { pages: 0, running: 0 }
  const watch = <A, E>(call: Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      counts.running++
      return Effect.ensuring(
        call,
        Effect.sync(() => counts.running--)
      )
    })
  const counted: StoreOperations = {
    ...store,
    get: (...args) => watch(store.get(...args)),
    counters: (...args) => watch(store.counters(...args)),
    list: (partition, queries) => {
      if (queries.some(({ limit }) => limit === 100)) counts.pages++
      return watch(store.list(partition, queries))
    }
  }
  return { counts, counted }
}

describe.each(stores)("an export that is read slowly, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  let gate: Tollgate
  let counts: ReturnType<typeof count>["counts"]
  let bucketId: string
  beforeAll(async () => {
    const store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    const { counted, ...counting } = count(store)
    counts = counting.counts
    gate = await createTollgate({ store: counted, secret, tokens: grants })
    const billing = await gate.account("acme").meteringBuckets.ensure("billing")
    bucketId = billing.id
    await billing.plans.create({ planExternalId: "pro", meters: { tokens: { max: 10 } } })
    const keys = Array.from({ length: customers }, (_, index) => `customer-${index}`)
    await Promise.all(
      keys.map((customerKey) => billing.subscriptions.create({ customerKey, planExternalIds: ["pro"] }))
    )
    const time = new Date().toISOString()
    const fields = {
      specversion: "1.0",
      source: "/gateway",
      type: "request",
      time,
      data: { meters: { tokens: 1 } }
    } as const
    const { accepted } = await billing.usage.recordEvents(keys.map((subject) => ({ ...fields, id: subject, subject })))
    expect(accepted).toBe(customers)
    await Effect.runPromise(waitForEvents(store))
  }, 300_000)
  afterAll(async () => {
    await gate.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const open = async (path: string, accept: string) => {
    const headers = { accept, authorization: `Bearer ${tokens.writer}` }
    const response = await gate.handler(new Request(`http://gate${path}`, { headers }))
    expect(response.status).toBe(200)
    const reader = response.body?.getReader()
    return reader === undefined ? expect.fail("no body") : reader
  }
  type Reader = Awaited<ReturnType<typeof open>>

  const readText = async (reader: Reader) => {
    const { value } = await reader.read()
    return value && new TextDecoder().decode(value)
  }

  /** Lets other requests pass, which read from the store and write to it, until nothing is read for the export any more. */
  const passTime = async () => {
    for (let [quiet, pages] = [0, counts.pages]; quiet < 5; pages = counts.pages) {
      await gate
        .account("acme")
        .meteringBucket(bucketId)
        .usage.record({ customerKey: "customer-0", meters: { tokens: 1 } })
      quiet = counts.pages === pages && counts.running === 0 ? quiet + 1 : 0
    }
  }

  const exports = [
    ["usage as CSV", () => `/v1/metering/${bucketId}/usage/export?month=${month}`, "text/csv"],
    ["usage as lines", () => `/v1/metering/${bucketId}/usage/export?month=${month}`, "application/x-ndjson"],
    ["events", () => "/v1/accounts/acme/events?order=asc&type=subscription.*", "application/x-ndjson"]
  ] as const

  it.each(exports)("reads no more than a page ahead, and all to the end: %s", async (_, path, accept) => {
    const before = counts.pages
    const reader = await open(path(), accept)
    let text = await readText(reader)
    await passTime()
    // The page of the first chunk, and the one that the response holds ready.
    expect(counts.pages - before).toBeLessThanOrEqual(2)
    expect(counts.running).toBe(0)
    for (let chunk = await readText(reader); chunk !== undefined; chunk = await readText(reader)) text += chunk
    expect(text?.trimEnd().split("\n").length).toBe(accept === "text/csv" ? customers + 1 : customers)
    expect(counts.pages - before).toBe(5)
  })

  it.each(exports)("reads nothing more when the client goes away: %s", async (_, path, accept) => {
    const before = counts.pages
    const reader = await open(path(), accept)
    await readText(reader)
    await reader.cancel()
    await passTime()
    expect(counts.pages - before).toBeLessThanOrEqual(2)
    expect(counts.running).toBe(0)
  })
})
