/**
 * Sessions and keys of customers, on every store and in several processes.
 */
import { AccountName, ConsumerName, Consumers, KeyBucketName, Tollgate } from "@tollgate/core/effect"
import { customerPortal, Portal, PortalSessions } from "@tollgate/portal"
import { Store, type StoreOperations } from "@tollgate/store"
import { Credentials } from "@tollgate/tokens"
import { Context, Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { secret, stores } from "../../core/test/stores.ts"

const newSecret = "another-secret-with-at-least-32-characters"
const params = {
  accountName: AccountName.make("acme"),
  bucketName: KeyBucketName.make("production"),
  consumerName: ConsumerName.make("alice")
}
const page = { offset: 0, limit: 100 }
const maxKeys = 5

const startProcess = (
  store: StoreOperations,
  options: { readonly secret?: string | ReadonlyArray<string>; readonly limits?: object } = {}
) =>
  Effect.map(
    Layer.build(
      Layer.fresh(Tollgate.layer({ secret, modules: [customerPortal({ maxKeys })], ...options })).pipe(
        Layer.provide(Layer.succeed(Store, store))
      )
    ),
    (context) => ({
      consumers: Context.get(context, Consumers),
      sessions: Context.get(context, PortalSessions),
      portal: Context.get(context, Portal),
      credentials: Context.get(context, Credentials as never) as Credentials["Service"]
    })
  )

const runTest = <A, E>(layer: Layer.Layer<Store, unknown>, test: Effect.Effect<A, E, Store | Scope.Scope>) =>
  Effect.runPromise(test.pipe(Effect.provide(layer), Effect.scoped, Effect.provide(TestClock.layer())))

describe.each(stores)("the portal, on %s", (_, layer) => {
  it("is open until the session ends or is revoked, in every process, and under a new secret", () =>
    runTest(
      layer,
      Effect.gen(function* () {
        const store = yield* Store
        const [one, other] = [yield* startProcess(store), yield* startProcess(store)]
        yield* one.consumers.create({ params, payload: { name: params.consumerName } })
        const open = (expiresIn?: number) =>
          one.sessions.create({ params, payload: expiresIn === undefined ? {} : { expiresIn } })
        const [short, long, revoked] = [yield* open(60), yield* open(), yield* open()]
        const isOpen = ({ token }: { readonly token: string }, process = other) =>
          Effect.map(process.sessions.authenticate(token), (caller) => caller !== undefined)
        expect(yield* isOpen(revoked)).toBe(true)
        yield* one.sessions.remove({ params: { ...params, sessionId: revoked.id } })
        expect(yield* isOpen(revoked)).toBe(false)
        expect(yield* other.sessions.authenticate(long.token)).toMatchObject({
          id: long.id,
          account: "acme",
          permissions: [],
          portal: { bucketName: "production", consumerName: "alice", allow: ["keys:read", "keys:write", "usage:read"] }
        })
        yield* TestClock.adjust(60_000)
        expect([yield* isOpen(short), yield* isOpen(long)]).toEqual([false, true])
        const renewed = yield* startProcess(store, { secret: [newSecret, secret] })
        expect(yield* isOpen(long, renewed)).toBe(true)
        yield* renewed.credentials.reencrypt
        expect(yield* isOpen(long, yield* startProcess(store, { secret: newSecret }))).toBe(true)
        yield* TestClock.adjust(60 * 60_000)
        expect(yield* isOpen(long)).toBe(false)
        expect((yield* one.sessions.list({ params, query: page })).data.map(({ id }) => id)).toContain(long.id)
        const gone = Effect.flip(one.sessions.remove({ params: { ...params, sessionId: revoked.id } }))
        expect(yield* gone).toMatchObject({ _tag: "PortalSessionNotFound" })
      })
    ))

  it("keeps only hashes of tokens, and not more sessions than the limit", () =>
    runTest(
      layer,
      Effect.gen(function* () {
        const inner = yield* Store
        const written: Array<unknown> = []
        const store: StoreOperations = {
          ...inner,
          commit: (...args) => {
            written.push(args)
            return inner.commit(...args)
          }
        }
        const one = yield* startProcess(store, { limits: { customerSessionsPerAccount: 2 } })
        yield* one.consumers.create({ params, payload: { name: params.consumerName } })
        const create = one.sessions.create({ params, payload: { name: "ann" } })
        const { token } = yield* create
        yield* create
        expect(yield* Effect.flip(create)).toMatchObject({ limit: "customerSessionsPerAccount" })
        const dump = JSON.stringify(written)
        expect(dump).toContain("portal_session.created")
        expect(dump).not.toContain(token.slice(12, 44))
      })
    ))

  it("lets two processes create exactly as many keys as there may be", () =>
    runTest(
      layer,
      Effect.gen(function* () {
        const store = yield* Store
        const processes = [yield* startProcess(store), yield* startProcess(store)] as const
        const [{ consumers, portal }] = processes
        yield* consumers.create({ params, payload: { name: params.consumerName, apiKeys: [{}] } })
        const attempts = Array.from({ length: 12 }, (_, index) => {
          const { portal } = processes[index % 2 === 0 ? 0 : 1]
          return Effect.result(portal.createKey({ params, payload: { name: `key ${index}` } }))
        })
        const results = yield* Effect.all(attempts, { concurrency: "unbounded" })
        const created = results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
        const failed = results.flatMap((result) => (result._tag === "Failure" ? [result.failure._tag] : []))
        expect(created.length).toBe(maxKeys - 1)
        expect(failed).toEqual(Array.from({ length: 12 - created.length }, () => "KeyLimitReached"))
        // A roll needs room for the new key, and may take as much again.
        const rolls = Array.from({ length: 12 }, (_, index) => {
          const { portal } = processes[index % 2 === 0 ? 0 : 1]
          const keyId = created[index % created.length]?.id ?? ""
          return Effect.result(portal.rollKey({ params: { ...params, keyId }, payload: {} }))
        })
        const rolled = yield* Effect.all(rolls, { concurrency: "unbounded" })
        expect(rolled.filter(({ _tag }) => _tag === "Success").length).toBe(maxKeys)
        expect((yield* portal.listKeys({ params, query: page })).total).toBe(2 * maxKeys)
        // Which keys were rolled is not known before: five of twelve attempts on four keys were let through.
        const replaced = created[rolled.findIndex(({ _tag }) => _tag === "Success") % created.length]
        yield* TestClock.adjust("25 hours")
        expect(
          yield* Effect.flip(portal.rollKey({ params: { ...params, keyId: replaced?.id ?? "" }, payload: {} }))
        ).toMatchObject({ _tag: "KeyNotActive" })
      })
    ))
})
