/**
 * Names whose servers never answer, with a DNS server that stays silent: they delay the webhooks of no other account, and
 * a queue of this process is never the fault of an endpoint.
 */
import { assert, describe, it } from "@effect/vitest"
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { DateTime, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { FairSemaphore } from "../../store/src/runtime/FairSemaphore.ts"
import { makeDnsResolver } from "../src/makeDnsResolver.ts"
import { ResolverBusy } from "../src/ResolutionError.ts"
import { CurrentResolution, makeResolutionTurns, type Resolution } from "../src/resolutionTurns.ts"
import { WebhookResolver } from "../src/WebhookResolver.ts"
import { startClockedGate, waitUntil } from "./clockedGate.ts"
import { startDnsServer } from "./dnsServer.ts"
import { startReceiver } from "./receivers.ts"

const zone = {
  "silent.example": { A: "silence", AAAA: "silence" },
  "hooks.example": { A: ["127.0.0.1"], AAAA: [] }
} as const

const setUp = Effect.gen(function* () {
  const { server, queries } = yield* startDnsServer(zone)
  const resolver = makeDnsResolver([server])
  const resolve = (host: keyof typeof zone, accountName: string, purpose: Resolution["purpose"] = "delivery") =>
    Effect.provideService(resolver(host), CurrentResolution, { accountName, purpose })
  /** Starts resolutions that hold a permit for 4 seconds each, of accounts with these names. */
  const jam = (accountNames: ReadonlyArray<string>, purpose?: Resolution["purpose"]) =>
    Effect.forEach(accountNames, (name) =>
      Effect.forkChild(Effect.exit(resolve("silent.example", name, purpose)), { startImmediately: true })
    )
  const countSilent = () => queries.filter((query) => query === "silent.example A").length
  const awaitSilent = (count: number) => Effect.promise(() => eventually(() => assert.isAtLeast(countSilent(), count)))
  return { resolve, jam, countSilent, awaitSilent }
})

const repeat = (count: number, name: (index: number) => string) => Array.from({ length: count }, (_, i) => name(i))

describe("a name", () => {
  it.effect("is resolved before the further names of an account that has 500", () =>
    Effect.gen(function* () {
      const { resolve, jam, awaitSilent } = yield* setUp
      yield* jam(repeat(500, () => "busy"))
      yield* awaitSilent(100)
      yield* TestClock.adjust(3_500)
      yield* jam(repeat(500, () => "busy"))
      const fiber = yield* Effect.forkChild(resolve("hooks.example", "quiet"), { startImmediately: true })
      // The first hundred end. Then all that wait give up.
      yield* TestClock.adjust(500)
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.succeed(["127.0.0.1"]))
    })
  )

  it.effect("of a delivery does not wait for checks of URLs", () =>
    Effect.gen(function* () {
      const { resolve, jam, countSilent, awaitSilent } = yield* setUp
      yield* jam(
        repeat(50, (index) => `account-${index}`),
        "check"
      )
      yield* awaitSilent(20)
      assert.deepStrictEqual(yield* resolve("hooks.example", "quiet"), ["127.0.0.1"])
      assert.strictEqual(countSilent(), 20)
    })
  )

  it.effect("waits a second for its turn, and then says that nobody was asked", () =>
    Effect.gen(function* () {
      const { resolve, jam, awaitSilent } = yield* setUp
      yield* jam(repeat(100, (index) => `account-${index}`))
      yield* awaitSilent(100)
      const fiber = yield* Effect.forkChild(Effect.flip(resolve("hooks.example", "quiet")))
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* Fiber.join(fiber), new ResolverBusy())
    })
  )
})

describe("a delivery", () => {
  it.effect("whose name has no turn is not attempted, and follows as soon as it has one", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-03-01T12:00:00Z"))
      const permits = new FairSemaphore(1)
      const inTurn = makeResolutionTurns({ check: new FairSemaphore(1), delivery: permits })
      const resolve = () => inTurn(Effect.succeed(["127.0.0.1"]))
      const receiver = yield* Effect.promise(() => startReceiver())
      yield* Effect.gen(function* () {
        const gate = yield* startClockedGate(MemoryStore.open())
        const webhook = yield* gate.create(receiver.url.replace("127.0.0.1", "hooks.example"))
        const jam = yield* Effect.forkChild(permits.withPermit("busy", Effect.never), { startImmediately: true })
        const id = yield* gate.test(webhook.id)
        const read = gate.readDelivery(webhook.id, id)
        const awaitClaim = (until: string) =>
          waitUntil(
            Effect.map(read, (delivery) =>
              assert.strictEqual(delivery?.nextAttemptOn && DateTime.formatIso(delivery.nextAttemptOn), until)
            )
          )
        yield* awaitClaim("2026-03-01T12:00:30.000Z")
        // Until the claim expires, and in the next one.
        for (let second = 0; second < 30; second++) yield* TestClock.adjust(1_000)
        yield* awaitClaim("2026-03-01T12:01:00.000Z")
        for (let second = 0; second < 5; second++) yield* TestClock.adjust(1_000)
        const waiting = yield* read
        assert.deepInclude(waiting, { status: "pending", attempts: [] })
        assert.lengthOf(receiver.requests, 0)
        yield* Fiber.interrupt(jam)
        const delivery = yield* gate.awaitAttempts(webhook.id, id, 1)
        assert.strictEqual(delivery?.status, "succeeded")
        assert.lengthOf(receiver.requests, 1)
      }).pipe(Effect.provideService(WebhookResolver, { resolvePublic: resolve, resolvePrivate: resolve }))
    })
  )
})
