/**
 * Four processes on one SQLite file and on one Redis, and four gates on one store in memory: every name has one winner,
 * a rolled consumer always has exactly one key without an expiry, a quota is used to its end and never beyond, and no
 * key outlives its consumer.
 */
import { join } from "node:path"
import { createTollgate, type StoreOperations } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { makeSubscription, runWorkers, startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { RivalInput } from "./rival.worker.ts"
import { account, bucket, compete, names, quota, type RivalResult, rounds, type Stakes } from "./rivals.ts"
import { secret } from "./stores.ts"

const seats = [0, 1, 2, 3]
const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

type Told = RivalResult & { readonly told?: ReadonlyArray<number> }

/** Makes what is fought for, lets the rivals at it, and judges what they were told and what they left. */
const judge = async (
  name: string,
  store: StoreOperations,
  fight: (all: ReadonlyArray<Stakes>) => Promise<ReadonlyArray<Told>>
) => {
  const gate = await createTollgate({ store, secret })
  for (const one of ["rolled", ...rounds])
    await gate.consumers.create(account, bucket, { name: one }, { withApiKey: true })
  const alice = await gate.consumers.create(account, bucket, { name: "alice" }, { withApiKey: true })
  const { id: bucketId } = await gate.meteringBuckets.create(account)
  const plan = { label: "P", planExternalId: "p", meters: { requests: { max: quota } } }
  const { id: planId } = await gate.plans.create(bucketId, plan)
  const { id: subscriptionId } = await gate.subscriptions.create(bucketId, makeSubscription(planId, "p", {}))
  const key = alice.apiKeys?.[0]?.key ?? ""

  const results = await fight(seats.map((seat) => ({ seat, bucketId, subscriptionId, key })))
  const total = (count: (result: RivalResult) => number) => sum(results.map(count))
  const winners = results.flatMap(({ won }) => won)
  const [rolled, wrongLooks, orphans] = [
    total((one) => one.rolled),
    total((one) => one.wrongLooks),
    total((one) => one.orphans)
  ]
  console.log(
    `rivals, ${name}: ${names.length} names, ${winners.length} winners; ${rolled} rolls, ${total((one) => one.looks)} looks, ${wrongLooks} without exactly one key that stays; ${total((one) => one.accepted)} of ${total((one) => one.accepted + one.over)} uses accepted, of at most ${quota}; ${total((one) => one.madeForLeaving)} keys made beside ${rounds.length} removals (refused meanwhile: ${total((one) => one.refusedRemovals)}), ${orphans} orphans`
  )
  expect(results.flatMap(({ others }) => others)).toEqual([])
  expect(winners.sort()).toEqual([...names].sort())
  for (const one of names) expect((await gate.keys.list(account, bucket, one)).total).toBe(1)
  const keys = (await gate.keys.list(account, bucket, "rolled")).data
  expect(keys.filter(({ expiresOn }) => expiresOn === undefined).length).toBe(1)
  expect(keys.length).toBe(1 + rolled)
  expect(wrongLooks).toBe(0)
  expect(total((one) => one.accepted)).toBe(quota)
  const { meters } = await gate.usage.quotas(bucketId, subscriptionId)
  expect(meters["requests"]).toEqual({ max: quota, used: quota, remaining: 0 })
  expect(orphans).toBe(0)
  const { data } = await gate.consumers.list(account, bucket)
  expect(data.filter(({ name }) => rounds.includes(name))).toEqual([])
  await gate.close()
  return results
}

const inProcesses = (store: RivalInput["store"], at: string) => (all: ReadonlyArray<Stakes>) =>
  runWorkers<Told>(
    new URL("./rival.worker.ts", import.meta.url),
    all.map((stakes): RivalInput => ({ ...stakes, store, at, secret }))
  )

it("four gates on one store in memory", async () => {
  const store = MemoryStore.open()
  await judge("memory, 4 gates", store, (all) =>
    Promise.all(
      all.map(async (stakes) => {
        const gate = await createTollgate({ store, secret })
        const result = await compete(gate, stakes)
        await gate.close()
        return result
      })
    )
  )
}, 60_000)

it("four processes on one SQLite file", async () => {
  const at = join(await Effect.runPromise(Scope.provide(temporaryFolder, scope)), "store.db")
  const store = await SqliteStore.open(at)
  const results = await judge("SQLite, 4 processes", store, inProcesses("SQLite", at))
  // Each share of the quota is told of once, by whoever came to it.
  expect(results.flatMap(({ told = [] }) => told).sort()).toEqual([0.8, 1])
  await store.close()
}, 120_000)

it("four processes on one Redis", async () => {
  const { url } = await Effect.runPromise(Scope.provide(startRedis(), scope))
  const store = await RedisStore.open(url)
  const results = await judge("Redis, 4 processes", store, inProcesses("Redis", url))
  expect(results.flatMap(({ told = [] }) => told).sort()).toEqual([0.8, 1])
  await store.close()
}, 120_000)
