/**
 * Kills a process before and after every commit of a batch of events. When the batch is sent again, by two processes at once,
 * each event has counted once: in the quota, in its hour and in the total of the metering bucket.
 */
import { createTollgate, type UsageEventJson } from "@tollgate/core"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { killAtCommit, killMoments } from "./killAtCommit.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

const hourMs = 3_600_000

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Events of now, of an hour that is over, and of a period that is over. */
const makeBatch = (name: string, customers: ReadonlyArray<string>): ReadonlyArray<UsageEventJson> =>
  customers.flatMap((subject) =>
    [0, 2 * hourMs, 60 * hourMs].map((age, index) => ({
      specversion: "1.0" as const,
      id: `${name}-${subject}-${index}`,
      source: "/gateway",
      type: "request",
      subject,
      time: new Date(Date.now() - age).toISOString(),
      data: { meters: { requests: 10 ** index } }
    }))
  )

it.each(sharedStoreKinds)(
  "a batch of events on %s that is killed at each of its commits and sent again counts each event once",
  async (kind) => {
    const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope))
    const shared = await run(startSharedStore(kind))
    const stores = [await openSharedStore(shared), await openSharedStore(shared)] as const
    const gates = await Promise.all(stores.map((store) => createTollgate({ store, secret, background: false })))
    const [billing, other] = gates.map((gate) => gate.account("acme").meteringBuckets.ensure("billing"))
    const [here, there] = [await billing, await other]
    if (here === undefined || there === undefined) return expect.fail("no gates")
    await here.plans.create({ planExternalId: "free", meters: { requests: { max: 10 } } })
    const customers = ["alice", "bob"]
    // The present period began a day ago.
    const quotaResetAnchor = new Date(Date.now() - 24 * hourMs)
    for (const customerKey of customers) {
      await here.subscriptions.create({ customerKey, planExternalIds: ["free"], quotaResetAnchor })
    }

    let batches = 0
    let kills = 0
    for (let commit = 1, isKilled = true; isKilled; commit++) {
      for (const moment of killMoments) {
        const events = makeBatch(`${commit}-${moment}`, customers)
        isKilled = await killAtCommit({
          shared,
          secret,
          commit,
          moment,
          work: "recordEvents",
          input: { events, bucketId: here.id }
        })
        if (isKilled) kills++
        const results = await Promise.all([
          here.usage.recordEvents(events),
          there.usage.recordEvents(events.toReversed())
        ])
        expect(results.flatMap(({ rejected }) => rejected)).toEqual([])
        for (const { accepted, duplicates } of results) expect(accepted + duplicates).toBe(events.length)
        batches++
        for (const customerKey of customers) {
          const { data } = await here.subscriptions.list({ customerKey })
          const { meters } = await here.usage.quotas(data[0]?.id ?? "")
          expect(meters["requests"]?.used, `${customerKey}, killed ${moment} commit ${commit}`).toBe(11 * batches)
          const series = await here.usage.series(data[0]?.id ?? "", { step: "period" })
          expect(series.data.slice(-2).map(({ meters }) => meters["requests"])).toEqual([100 * batches, 11 * batches])
        }
        const { data } = await here.usage.totals()
        const total = data.reduce((sum, { meters }) => sum + (meters["requests"] ?? 0), 0)
        expect(total).toBe(customers.length * 111 * batches)
      }
    }
    expect(kills).toBeGreaterThanOrEqual(2 * customers.length)
    console.log(`events, ${kind}: ${kills} kills in ${batches} batches, each event counted once`)
    for (const gate of gates) await gate.close()
    await run(Scope.close(scope, Exit.void))
    for (const store of stores) await store.close()
  },
  240_000
)
