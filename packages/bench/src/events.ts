/**
 * What events cost: the latency of changes compared with the same changes without their events, and the throughput of
 * many at once until all events are in the log.
 */
import { join } from "node:path"
import { setTimeout as wait } from "node:timers/promises"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { type Change, Partition, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { account, secret } from "./keys.ts"
import { compare, compareLatency, type Effort, runConcurrently, type Work } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const concurrency = 64
/** Spread over several consumers, because each can have at most 10,000 keys. */
const consumers = 200
/** Long enough that the relay reaches its steady state. */
const toSustained = ({ rounds, milliseconds }: Effort): Effort => ({
  rounds: Math.ceil(rounds / 4),
  milliseconds: milliseconds * 25
})

const isEvent = (change: Change): boolean => change._tag === "Put" && change.key.startsWith("outbox/")

/**
 * The same store, but commits leave out events. Making and encoding an event happens before the commit, so that it is part of
 * both sides: the ratios are those of storing and moving events.
 */
const withoutEvents = (store: StoreOperations): StoreOperations => ({
  ...store,
  commit: (partition, changes, idempotency) =>
    store.commit(
      partition,
      changes.filter((change) => !isEvent(change)),
      idempotency
    )
})

const openChanges = async (store: StoreOperations, bucketName: string) => {
  const gate = await createTollgate({ store, secret })
  const keyBucket = gate.account(account).keyBucket(bucketName)
  for (let index = 0; index < consumers; index++) await keyBucket.consumers.create({ name: `c-${index}` })
  const outbox = store.list(Partition.forKeyBucket(account, bucketName), [
    { indexTerms: ["outbox"], offset: 0, limit: 0 }
  ])
  const waitUntilMoved = async (): Promise<void> => {
    while ((await Effect.runPromise(outbox)).some(({ total }) => total > 0)) await wait(5)
  }
  let created = 0
  const changes = {
    "create a consumer": () =>
      keyBucket.consumers.create({ name: `new-${created++}`, tags: { team: "blue" }, metadata: { plan: "pro" } }),
    "update a consumer": (index: number) =>
      keyBucket.consumers.update(`c-${index % consumers}`, { metadata: { plan: "pro", index } }),
    "create a key": (index: number) => keyBucket.keys.create(`c-${index % consumers}`, {})
  }
  const all = Object.values(changes)
  const change = async (index: number) => all[index % all.length]?.(index)
  const sustain: Work = async (times) => {
    await runConcurrently(concurrency, change)(times)
    await waitUntilMoved()
  }
  return { changes, sustain, waitUntilMoved, close: gate.close }
}

const measure = async (storeName: string, store: StoreOperations, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const recorded = await openChanges(store, "with-events")
  const baseline = await openChanges(withoutEvents(store), "without-events")
  const comparedWith = "the same without storing events"
  const rows: Array<Row> = []
  for (const name of ["create a consumer", "update a consumer", "create a key"] as const) {
    const comparison = await compareLatency(recorded.changes[name], baseline.changes[name], effort)
    rows.push({ name: `${name}, ${storeName}, latency`, comparedWith, target: 0.83, ...comparison })
    await recorded.waitUntilMoved()
  }
  const sustained = await compare(recorded.sustain, baseline.sustain, toSustained(effort))
  const name = `changes, ${storeName}, ${concurrency} concurrent, until their events are in the log`
  rows.push({ name, comparedWith, target: 0.5, ...sustained })
  await recorded.close()
  await baseline.close()
  return rows
}

export const eventsInMemory = (effort: Effort): Promise<ReadonlyArray<Row>> =>
  measure("memory", MemoryStore.open(), effort)

export const eventsOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await SqliteStore.open(join(folder, "events.db"))
  const rows = await measure("SQLite file", store, effort)
  await store.close()
  return rows
}

export const eventsOnPostgres = async ({ postgres }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await PostgresStore.open(postgres, { schema: "events" })
  const rows = await measure("Postgres", store, effort)
  await store.close()
  return rows
}

export const eventsOnRedis = async ({ redis }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await RedisStore.open(redis, { prefix: "events:" })
  const rows = await measure("Redis", store, effort)
  await store.close()
  return rows
}
