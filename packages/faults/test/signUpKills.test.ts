/**
 * Kills a process before and after every commit of a sign-up. No key is ever without a plan; what a killed call has left is
 * removed a minute later by another process; and the customer can sign up again at once.
 */
import { createTollgate } from "@tollgate/core"
import { Tollgate as Services } from "@tollgate/core/effect"
import { Partition, Store } from "@tollgate/store"
import { Clock, Effect, Exit, Layer, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { signUpIntents } from "../../core/src/consumers/signUpIntents.ts"
import { shiftClock } from "../../core/test/shiftClock.ts"
import { killAtCommit, killMoments } from "./killAtCommit.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

it.each(sharedStoreKinds)(
  "a sign-up on %s that is killed at each of its commits leaves no key without a plan, and nothing after a minute",
  async (kind) => {
    const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope))
    const shared = await run(startSharedStore(kind))
    const store = await openSharedStore(shared)
    const gate = await createTollgate({ store, secret, background: false })
    const account = gate.account("acme")
    const billing = await account.meteringBuckets.ensure("billing")
    await billing.plans.create({ planExternalId: "free", meters: { requests: { max: 10 } } })
    const { consumers, keys } = account.keyBucket("b")
    const listSubscriptions = async () => {
      const found = new Map<string, string>()
      for await (const { id, customerKey } of billing.subscriptions.list()) found.set(id, customerKey)
      return found
    }
    const countIntents = () =>
      Effect.runPromise(
        Effect.map(
          signUpIntents.page(Partition.forKeyBucket("acme", "b"), { offset: 0, limit: 0 }),
          ({ total }) => total
        ).pipe(Effect.provideService(Store, store))
      )

    const names: Array<string> = []
    for (let commit = 1, isKilled = true; isKilled; commit++) {
      for (const moment of killMoments) {
        const name = `c-${commit}-${moment}`
        names.push(name)
        isKilled = await killAtCommit({
          shared,
          secret,
          commit,
          moment,
          work: "signUp",
          input: { name, bucketId: billing.id }
        })
        const subscribed = [...(await listSubscriptions()).values()]
        const { total } = await keys.list(name).catch(() => ({ total: 0 }))
        if (total > 0) expect(subscribed, name).toContain(name)
        else expect(isKilled, name).toBe(true)
      }
    }
    const created: Array<string> = []
    for await (const { name } of consumers.list()) created.push(name)
    // Half of those that were killed sign up again at once.
    const missing = names.filter((name) => !created.includes(name))
    const subscription = { meteringBucket: billing.id, planExternalIds: ["free"] }
    for (const name of missing.filter((_, index) => index % 2 === 0)) {
      await consumers.create({ name, subscription }, { withApiKey: true })
      created.push(name)
    }
    const left = (await listSubscriptions()).size - created.length
    expect(left).toBeGreaterThan(0)

    // Another process, a minute later.
    const services = Services.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, store)))
    const clock = shiftClock(Clock.Clock.defaultValue(), 61_000)
    await run(Effect.provideService(Layer.build(Layer.fresh(services)), Clock.Clock, clock))
    await expect.poll(countIntents, { timeout: 60_000, interval: 50 }).toBe(0)
    expect([...(await listSubscriptions()).values()].sort()).toEqual([...created].sort())
    for (const name of missing.filter((_, index) => index % 2 === 1)) {
      await consumers.create({ name, subscription }, { withApiKey: true })
    }
    expect([...(await listSubscriptions()).values()].sort()).toEqual([...names].sort())
    console.log(`sign-ups, ${kind}: ${names.length - 2} kills, ${left} subscriptions undone, no key without a plan`)
    await gate.close()
    await run(Scope.close(scope, Exit.void))
    await store.close()
  },
  240_000
)
