/**
 * What the checks of webhook URLs cost: names are resolved one at a time for each account, and not for refused requests.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName, Tollgate } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { Webhooks, webhooks } from "@tollgate/webhooks"
import { Effect, Fiber, Layer } from "effect"
import { secret } from "../../core/test/secrets.ts"
import { WebhookResolver } from "../src/WebhookResolver.ts"

const start = <A, E>(test: Effect.Effect<A, E, Webhooks>) =>
  Effect.suspend(() =>
    Effect.provide(
      test,
      Tollgate.layer({ secret, limits: { webhooksPerAccount: 1 }, modules: [webhooks()] }).pipe(
        Layer.provide(Layer.succeed(Store, MemoryStore.open()))
      )
    )
  )

const create = (account: string, host: string) =>
  Effect.flatMap(Webhooks, (service) =>
    service.create({ params: { accountName: AccountName.make(account) }, payload: { url: `https://${host}/` } })
  )

describe("the URL of a webhook", () => {
  it.live("is not resolved if the account has as many webhooks as it may", () => {
    const hosts: Array<string> = []
    const resolve = (host: string) =>
      Effect.sync(() => {
        hosts.push(host)
        return ["93.184.216.34"]
      })
    return Effect.gen(function* () {
      yield* create("acme", "first.example.com")
      const error = yield* Effect.flip(create("acme", "second.example.com"))
      assert.strictEqual(error._tag, "LimitReached")
      assert.deepStrictEqual(hosts, ["first.example.com"])
    }).pipe(start, Effect.provideService(WebhookResolver, { resolvePublic: resolve, resolvePrivate: resolve }))
  })

  it.live("occupies the resolver once for each account, and delays no other account", () => {
    let open = 0
    const resolve = (host: string) =>
      host.startsWith("slow")
        ? Effect.suspend(() => {
            open++
            return Effect.never
          })
        : Effect.succeed(["93.184.216.34"])
    return Effect.gen(function* () {
      const attempts = Array.from({ length: 50 }, (_, index) => create("acme", `slow-${index}.example.com`))
      const fiber = yield* Effect.forkChild(Effect.all(attempts, { concurrency: "unbounded" }))
      yield* Effect.promise(() => eventually(() => assert.isAtLeast(open, 1)))
      yield* create("other", "hooks.example.com")
      assert.strictEqual(open, 1)
      yield* Fiber.interrupt(fiber)
    }).pipe(start, Effect.provideService(WebhookResolver, { resolvePublic: resolve, resolvePrivate: resolve }))
  })
})
