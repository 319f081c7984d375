/**
 * Links and sessions, on every store.
 */
import { hash } from "node:crypto"
import { AccountName, Tollgate } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreOperations } from "@tollgate/store"
import { Credentials, type NewSession, Sessions, tokens } from "@tollgate/tokens"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { secret, stores } from "../../core/test/stores.ts"
import { toPartition } from "../src/credentialValues.ts"

const acme = AccountName.make("acme")
const newSecret = "another-secret-with-at-least-32-characters"
const page = { offset: 0, limit: 100 }
const hour = 60 * 60_000
const all: NewSession = { account: "*", access: "write", sessionMs: hour }
const ann: NewSession = { account: acme, access: "write", permissions: ["support"], name: "ann", sessionMs: hour }

const startProcess = (
  store: StoreOperations,
  options: {
    readonly limits?: { readonly sessionsPerAccount: number }
    readonly secret?: string | ReadonlyArray<string>
  } = {}
) =>
  Effect.map(
    Layer.build(
      Layer.fresh(Tollgate.layer({ secret, modules: [tokens()], ...options })).pipe(
        Layer.provide(Layer.succeed(Store, store))
      )
    ),
    (context) => ({ ...Context.get(context, Sessions), ...Context.get(context, Credentials) })
  )

type Process = Effect.Success<ReturnType<typeof startProcess>>

const runTest = <A, E>(
  layer: Layer.Layer<Store, unknown>,
  test: Effect.Effect<A, E, Store | import("effect").Scope.Scope>
) => Effect.runPromise(test.pipe(Effect.provide(layer), Effect.scoped, Effect.provide(TestClock.layer())))

describe.each(stores)("sessions, on %s", (_, layer) => {
  it("are opened by a link once, in any process, and end when the link says", () =>
    runTest(
      layer,
      Effect.gen(function* () {
        const store = yield* Store
        const [one, other] = [yield* startProcess(store), yield* startProcess(store)]
        const { code } = yield* one.createLink(ann)
        const attempts = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).exchange(code))
        const opened = (yield* Effect.all(attempts, { concurrency: "unbounded" })).filter(
          (session) => session !== undefined
        )
        expect(opened.length).toBe(1)
        const token = opened[0]?.token ?? ""
        for (const { authenticate } of [one, other]) {
          expect(yield* authenticate(token)).toMatchObject({ account: acme, name: "ann", permissions: ["support"] })
          expect(yield* authenticate(code)).toBeUndefined()
        }
        expect(yield* one.exchange(token)).toBeUndefined()
        yield* TestClock.adjust(hour)
        for (const { authenticate } of [one, other]) expect(yield* authenticate(token)).toBeUndefined()
      })
    ))

  it("are listed and revoked, alone and all at once, in every process within a second", () =>
    runTest(
      layer,
      Effect.gen(function* () {
        const store = yield* Store
        const [one, other] = [yield* startProcess(store), yield* startProcess(store)]
        const open = (session: NewSession) =>
          Effect.gen(function* () {
            return (yield* one.exchange((yield* one.createLink(session)).code))?.token ?? ""
          })
        const opened = [yield* open(ann), yield* open(ann), yield* open(all)] as const
        const { code: unused } = yield* one.createLink(ann)
        const recognize = (index: 0 | 1 | 2) =>
          Effect.map(other.authenticate(opened[index]), (caller) => caller !== undefined)
        expect(yield* Effect.all([recognize(0), recognize(1), recognize(2)])).toEqual([true, true, true])
        const { data } = yield* one.list({ params: { accountName: acme }, query: page })
        expect(data).toMatchObject([{ name: "ann", permissions: ["support"] }, { name: "ann" }])
        expect((yield* one.ofAllAccounts.list({ query: page })).data).toMatchObject([{ access: "write" }])
        const sessionId = data[0]?.id ?? ""
        const revoke = one.remove({ params: { accountName: acme, sessionId } })
        yield* revoke
        expect(yield* Effect.flip(revoke)).toMatchObject({ _tag: "SessionNotFound" })
        yield* TestClock.adjust(1_000)
        expect(yield* Effect.all([recognize(0), recognize(1), recognize(2)])).toEqual([false, true, true])
        yield* one.removeAll({ params: { accountName: acme } })
        yield* TestClock.adjust(1_000)
        expect(yield* Effect.all([recognize(0), recognize(1), recognize(2)])).toEqual([false, false, true])
        expect(yield* other.exchange(unused)).toBeUndefined()
        yield* one.ofAllAccounts.removeAll({})
        yield* TestClock.adjust(1_000)
        expect(yield* recognize(2)).toBe(false)
      })
    ))

  it("have no events, and are not in a dump of the store", () =>
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
        const { createLink, exchange, list, remove, removeAll } = yield* startProcess(store)
        const values: Array<string> = []
        for (let index = 0; index < 2; index++) {
          const { code } = yield* createLink(ann)
          values.push(code, (yield* exchange(code))?.token ?? "")
        }
        const { data } = yield* list({ params: { accountName: acme }, query: page })
        yield* remove({ params: { accountName: acme, sessionId: data[0]?.id ?? "" } })
        yield* removeAll({ params: { accountName: acme } })
        const dump = JSON.stringify(written)
        expect(dump).toContain("encryptedHash")
        expect(dump).not.toContain("outbox/")
        for (const value of values) {
          expect(value.length).toBeGreaterThan(40)
          expect(dump).not.toContain(value.slice(12, 44))
          expect(dump).not.toContain(hash("sha256", value, "hex"))
        }
      })
    ))

  it("and links survive the replacement of the secret, by re-encryption", () =>
    runTest(
      layer,
      Effect.gen(function* () {
        const store = yield* Store
        const open = ({ createLink, exchange }: Process, session: NewSession) =>
          Effect.gen(function* () {
            return (yield* exchange((yield* createLink(session)).code))?.token ?? ""
          })
        const before = yield* startProcess(store)
        const values = [yield* open(before, ann), yield* open(before, all)]
        const { code } = yield* before.createLink(ann)
        const both = yield* startProcess(store, { secret: [newSecret, secret] })
        const after = yield* startProcess(store, { secret: [newSecret] })
        for (const value of values) expect(yield* after.authenticate(value)).toBeUndefined()
        expect(yield* both.reencrypt).toEqual(["reencrypted", "reencrypted", "reencrypted"])
        expect(yield* both.reencrypt).toEqual(["unchanged", "unchanged", "unchanged"])
        for (const value of values) expect(yield* after.authenticate(value)).toBeDefined()
        expect(yield* after.exchange(code)).toBeDefined()
      })
    ))
})

describe("links and sessions", () => {
  it("cannot be forged with the secret alone", () =>
    runTest(
      MemoryStore.layer,
      Effect.gen(function* () {
        const owner = yield* startProcess(yield* Store)
        const thief = yield* startProcess(MemoryStore.open())
        const { code } = yield* thief.createLink(all)
        const { token = "" } = (yield* thief.exchange((yield* thief.createLink(all)).code)) ?? {}
        expect(yield* thief.authenticate(token)).toBeDefined()
        expect(yield* owner.exchange(code)).toBeUndefined()
        expect(yield* owner.authenticate(token)).toBeUndefined()
      })
    ))

  it("of a link end after 5 minutes", () =>
    runTest(
      MemoryStore.layer,
      Effect.gen(function* () {
        const { createLink, exchange } = yield* startProcess(yield* Store)
        const [first, second] = [yield* createLink(ann), yield* createLink(ann)]
        yield* TestClock.adjust(299_999)
        expect(yield* exchange(first.code)).toBeDefined()
        yield* TestClock.adjust(1)
        expect(yield* exchange(second.code)).toBeUndefined()
      })
    ))

  it("are removed an hour after their end", () =>
    runTest(
      MemoryStore.layer,
      Effect.gen(function* () {
        const store = yield* Store
        const { createLink, exchange, list } = yield* startProcess(store)
        const count = Effect.map(list({ params: { accountName: acme }, query: page }), ({ total }) => total)
        for (let index = 0; index < 250; index++) yield* exchange((yield* createLink(ann)).code)
        yield* createLink(ann)
        const last = (yield* createLink({ ...ann, sessionMs: 10 * hour })).code
        yield* exchange(last)
        yield* TestClock.adjust(2 * hour - 1_000)
        expect(yield* count).toBe(251)
        yield* TestClock.adjust("1 second")
        const countAll = Effect.map(
          store.list(toPartition(acme), [{ indexTerms: ["credential"], offset: 0, limit: 0 }]),
          ([page]) => page?.total
        )
        // Background work is done in real time, while the TestClock stands still.
        while ((yield* countAll) !== 1) yield* TestClock.withLive(Effect.sleep("50 millis"))
        expect(yield* count).toBe(1)
      })
    ))

  it("have a maximum", () =>
    runTest(
      MemoryStore.layer,
      Effect.gen(function* () {
        const { createLink, exchange } = yield* startProcess(yield* Store, { limits: { sessionsPerAccount: 2 } })
        for (let index = 0; index < 2; index++) yield* exchange((yield* createLink(ann)).code)
        const error = yield* Effect.flip(exchange((yield* createLink(ann)).code))
        expect(error).toMatchObject({ _tag: "LimitReached", limit: "sessionsPerAccount" })
      })
    ))
})
