/**
 * Processes on the TestClock, for tests of webhooks: their delays pass when the test moves the clock.
 */
import { AccountName, Events, type ServiceOptions, Tollgate } from "@tollgate/core/effect"
import { Store, type StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { Webhooks, webhooks as webhooksModule } from "@tollgate/webhooks"
import { Clock, type DateTime, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { BackgroundClock } from "../../core/src/jobs/BackgroundClock.ts"
import { secret } from "../../core/test/secrets.ts"
import { shiftClock } from "../../core/test/shiftClock.ts"
import { startReceiver } from "./receivers.ts"

const accountName = AccountName.make("acme")
const params = { accountName }

/** Repeats a check in real time, while the TestClock stands still. */
export const waitUntil = <A, E>(check: Effect.Effect<A, E>): Effect.Effect<A> =>
  Effect.promise(() => eventually(() => Effect.runPromise(check)))

/** Starts a process whose clock may be ahead. `close` ends it; otherwise it ends with the test. */
export const startClockedGate = Effect.fnUntraced(function* (
  store: StoreOperations,
  {
    aheadMs = 0,
    hasTestClock = false,
    ...options
  }: Partial<Omit<ServiceOptions, "modules">> & {
    readonly aheadMs?: number
    /** Whether also background work pauses on the TestClock, so that the test decides how long a process is silent. */
    readonly hasTestClock?: boolean
  } = {}
) {
  const clock = shiftClock(yield* Clock.Clock, aheadMs)
  const testClock = yield* Clock.Clock
  const withClock = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provideService(Clock.Clock, clock),
      hasTestClock ? Effect.provideService(BackgroundClock, testClock) : (effect) => effect
    )
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const layer = Tollgate.layer({ secret, modules: [webhooksModule({ allowPrivateNetworks: true })], ...options }).pipe(
    Layer.provide(Layer.succeed(Store, store))
  )
  const context = yield* withClock(Layer.buildWithScope(Layer.fresh(layer), scope))
  const run = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    withClock(Effect.provideContext(effect as Effect.Effect<A, E, Webhooks | Events>, context))
  const [webhooks, events] = [yield* run(Webhooks), yield* run(Events)]
  const toParams = (webhookId: string) => ({ params: { accountName, webhookId } })
  const readDeliveries = (webhookId: string) =>
    run(webhooks.deliveries({ ...toParams(webhookId), query: { limit: 1_000, offset: 0 } }))
  const readDelivery = (webhookId: string, deliveryId: string) =>
    Effect.map(readDeliveries(webhookId), ({ data }) => data.find(({ id }) => id === deliveryId))
  return {
    create: (url: string, types: ReadonlyArray<"*" | "consumer.*"> = ["consumer.*"]) =>
      Effect.map(run(webhooks.create({ params, payload: { url, events: types } })), ({ value }) => value),
    get: (webhookId: string) => Effect.map(run(webhooks.get(toParams(webhookId))), ({ value }) => value),
    enable: (webhookId: string) => run(webhooks.update({ ...toParams(webhookId), payload: { state: "enabled" } })),
    rotateSecret: (webhookId: string) => run(webhooks.rotateSecret(toParams(webhookId))),
    test: (webhookId: string) => Effect.map(run(webhooks.test(toParams(webhookId))), ({ id }) => id),
    events: Effect.map(run(events.list({ params, query: { limit: 1_000, offset: 0 } })), ({ data }) => data),
    countDeliveries: (webhookId: string) => Effect.map(readDeliveries(webhookId), ({ total }) => total),
    readDelivery,
    /** Waits until a delivery was attempted so often, and the outcome is written. */
    awaitAttempts: (webhookId: string, deliveryId: string, count: number) =>
      waitUntil(
        Effect.map(readDelivery(webhookId, deliveryId), (delivery) => {
          expect(delivery?.attempts).toHaveLength(count)
          return delivery
        })
      ),
    close: Scope.close(scope, Exit.void)
  }
})
export type ClockedGate = Effect.Success<ReturnType<typeof startClockedGate>>

/**
 * A webhook that always succeeds. After `pass`, the process has attempted everything of the account that was due: it sends
 * a test event to this webhook, and starts what is due of all webhooks at once.
 */
export const startBarrier = Effect.fnUntraced(function* ({ create, test }: ClockedGate) {
  const receiver = yield* Effect.promise(() => startReceiver())
  const { id } = yield* create(receiver.url)
  const pass = Effect.gen(function* () {
    const before = receiver.requests.length
    yield* test(id)
    yield* waitUntil(Effect.sync(() => expect(receiver.requests).toHaveLength(before + 1)))
  })
  return { pass }
})

export const moveTo = (time: DateTime.Utc, offsetMs = 0) => TestClock.setTime(time.epochMilliseconds + offsetMs)
