/**
 * A flood of refused requests: with random keys from one address, and with the key of one consumer. The store keeps a bounded
 * number of entries, decisions of others wait for nothing, and refusals of other customers are still found by the id of
 * the request. A million requests if all cases run, 50,000 otherwise.
 */
import { randomBytes } from "node:crypto"
import { createTollgate } from "@tollgate/core"
import { addChecksum } from "@tollgate/core/module"
import { decisions } from "@tollgate/decisions"
import { makeAuthorizeRequest } from "@tollgate/protect"
import { Store, type StoreOperations } from "@tollgate/store"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { getStatsPartition, refusalRecords } from "../../decisions/src/refusalRecords.ts"
import { isComplete } from "./sample.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

const count = isComplete ? 1_000_000 : 50_000
const atOnce = 500
/** Half of the requests have keys that look like ours, and need a look into the store. */
const makeKey = (index: number): string =>
  index % 2 === 0 ? addChecksum(`tg_${randomBytes(20).toString("hex")}`) : randomBytes(20).toString("hex")

/** A decision of another customer may wait for those that arrived with it: generous, on a busy machine. */
const maxLatenessMs = 5_000
const keptOfAddress = 50
const keptOfConsumer = 100

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const countEntries = async (store: StoreOperations): Promise<number> => {
  const query = { where: [], offset: 0, limit: 0 }
  const page = refusalRecords.page(getStatsPartition("acme", "production"), query)
  return (await Effect.runPromise(Effect.provideService(page, Store, store))).total
}

it.each(sharedStoreKinds)(
  `a flood of ${count} refused requests is bounded, and hides no refusal of another customer, on %s`,
  async (kind) => {
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const store = await openSharedStore(shared)
    const open = () => createTollgate({ store, secret, modules: [decisions()] })
    const gate = await open()
    const production = gate.account("acme").keyBucket("production")
    const authorize = makeAuthorizeRequest(production, { scopes: ["orders:read"] })
    const send = (key: string, requestId: string, ip: string) =>
      authorize(
        {
          header: (name) => ({ authorization: `Bearer ${key}`, "x-request-id": requestId })[name],
          query: () => undefined,
          ip: () => ip,
          route: () => "GET /orders"
        },
        {}
      )
    const createKey = async (name: string, scopes: ReadonlyArray<string>): Promise<string> => {
      await production.consumers.create({ name })
      return (await production.keys.create(name, { scopes })).key ?? ""
    }
    const [honest, unscoped, flooding] = [
      await createKey("honest", ["orders:read"]),
      await createKey("unscoped", ["orders:write"]),
      await createKey("flooding", ["orders:write"])
    ]
    expect(await send(unscoped, "before-the-flood", "198.51.100.1")).toMatchObject({ allowed: false, status: 403 })
    expect(await send("made-up", "stranger-before", "198.51.100.2")).toMatchObject({ allowed: false, status: 401 })

    let latestMs = 0
    for (let sent = 0; sent < count; sent += atOnce) {
      const flood = Array.from({ length: atOnce }, (_, index) =>
        // Each tenth request has the key of one consumer.
        index % 10 === 0
          ? send(flooding, `flood-${sent + index}`, "203.0.113.9")
          : send(makeKey(sent + index), `flood-${sent + index}`, "203.0.113.9")
      )
      const start = performance.now()
      expect((await send(honest, `honest-${sent}`, "198.51.100.3")).allowed).toBe(true)
      latestMs = Math.max(latestMs, performance.now() - start)
      const refused = await Promise.all(flood)
      expect(refused.every(({ allowed }) => !allowed)).toBe(true)
    }
    expect(latestMs).toBeLessThan(maxLatenessMs)
    expect(await send(unscoped, "after-the-flood", "198.51.100.1")).toMatchObject({ allowed: false, status: 403 })
    await gate.close()

    // Those of the address, of the consumer in each minute of the flood, and the four of others.
    const entries = await countEntries(store)
    expect(entries).toBeLessThanOrEqual(keptOfAddress + keptOfConsumer + 4)
    const support = await open()
    const log = support.account("acme").decisions
    for (const requestId of ["before-the-flood", "after-the-flood", "stranger-before"])
      expect((await log.list("production", { requestId })).data).toHaveLength(1)
    const { data } = await log.outcomes("production")
    const sum = (numbers: ReadonlyArray<number | undefined>) => numbers.reduce<number>((all, one = 0) => all + one, 0)
    expect({
      allowed: sum(data.map(({ allowed }) => allowed)),
      refused: sum(data.flatMap(({ refused }) => Object.values(refused)))
    }).toEqual({ allowed: count / atOnce, refused: count + 3 })
    await support.close()
    await store.close()
    console.log(`${kind}: ${entries} entries are kept, a decision of another waited ${latestMs.toFixed(0)} ms at most`)
  },
  isComplete ? 1_800_000 : 300_000
)
