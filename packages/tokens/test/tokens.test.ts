/**
 * Management tokens that are created while the server runs, on every store, in process and over HTTP.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { AccountName, Tollgate as CoreTollgate } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreOperations } from "@tollgate/store"
import { Credentials, Tokens, type TokensModule, tokens } from "@tollgate/tokens"
import { tokensClient } from "@tollgate/tokens/client"
import { Clock, Context, DateTime, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { readLog } from "../../core/test/eventGates.ts"
import { makeClient } from "../../core/test/http/client.ts"
import { shiftClock } from "../../core/test/shiftClock.ts"
import { secret, stores } from "../../core/test/stores.ts"
import { toPartition } from "../src/credentialValues.ts"

const adminToken = "a-token-of-the-operator-for-tests"
const writerToken = "a-token-that-may-write-for-tests"
const newSecret = "another-secret-with-at-least-32-characters"

const openGate = (store: StoreOperations, options: { readonly secret?: string | ReadonlyArray<string> } = {}) =>
  createTollgate({
    store,
    secret,
    modules: [tokens()],
    tokens: [
      { token: adminToken, account: "*", permissions: ["*"] },
      { token: writerToken, account: "*" }
    ],
    ...options
  })

type Gate = Tollgate<TokensModule>
let count = 0
const freshAccount = () => `account-${++count}`
const consumersOf = (account: string) => `/v1/accounts/${account}/key-buckets/production/consumers`

const getStatus = async (gate: Gate, account: string, token: string, method = "GET") =>
  (await makeClient(gate.handler)(method, consumersOf(account), { token, body: method === "POST" ? {} : undefined }))
    .status

const countReads = (inner: StoreOperations) => {
  let count = 0
  const getByUniqueKey: StoreOperations["getByUniqueKey"] = (...args) => {
    count++
    return inner.getByUniqueKey(...args)
  }
  return { store: { ...inner, getByUniqueKey }, reads: () => count }
}

const startProcess = (store: StoreOperations) =>
  Effect.map(
    Layer.build(
      Layer.fresh(CoreTollgate.layer({ secret, modules: [tokens()] })).pipe(Layer.provide(Layer.succeed(Store, store)))
    ),
    (context) => ({ tokens: Context.get(context, Tokens), credentials: Context.get(context, Credentials) })
  )

describe.each(stores)("tokens, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  const opened: { store?: StoreOperations; gate?: Gate } = {}
  beforeAll(async () => {
    opened.store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    opened.gate = await openGate(opened.store)
  })
  afterAll(async () => {
    await opened.gate?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  const get = <Name extends keyof typeof opened>(name: Name) => opened[name] as NonNullable<(typeof opened)[Name]>
  const gate = () => get("gate")

  it("are created with their value, listed and read without it, changed and removed", async () => {
    const account = freshAccount()
    const { tokens } = gate().account(account)
    const created = await tokens.create({ description: "CI", permissions: ["consumers:read"] })
    expect(created).toEqual({
      id: expect.stringMatching(/^tok_\w{24}$/),
      description: "CI",
      permissions: ["consumers:read"],
      createdOn: expect.any(String),
      updatedOn: created.createdOn,
      token: expect.stringMatching(/^tgm_[0-9a-f]{8}[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/),
      version: expect.any(Number)
    })
    const { token, version, ...shown } = created
    expect((await tokens.list()).data).toEqual([shown])
    expect(await tokens.get(created.id)).toEqual({ ...shown, version })
    expect(await getStatus(gate(), account, token)).toBe(200)
    expect(await getStatus(gate(), account, token, "POST")).toBe(403)
    expect(await getStatus(gate(), freshAccount(), token)).toBe(403)
    const updated = await tokens.update(created.id, {
      permissions: ["keys:read"],
      expiresOn: "2999-01-01T00:00:00.000Z"
    })
    expect(updated).toMatchObject({ permissions: ["keys:read"], expiresOn: "2999-01-01T00:00:00.000Z" })
    expect(await getStatus(gate(), account, token)).toBe(403)
    expect(await tokens.update(created.id, { expiresOn: null })).not.toHaveProperty("expiresOn")
    await tokens.remove(created.id)
    expect(await getStatus(gate(), account, token)).toBe(401)
    await expect(tokens.get(created.id)).rejects.toMatchObject({ _tag: "TokenNotFound" })
    expect((await tokens.list()).data).toEqual([])
    const log = await readLog(get("store"), gate(), account)
    expect(log.map(({ type }) => type)).toEqual(["token.created", "token.updated", "token.updated", "token.deleted"])
    expect(JSON.stringify(log)).not.toContain(token)
  })

  it("are refused with every permission that no operation needs", async () => {
    const { tokens } = gate().account(freshAccount())
    const permissions = ["keys:raed", "keys:read", "nothing"]
    const errors = [0, 2].map((index) => ({ pointer: `/permissions/${index}`, detail: expect.any(String) }))
    await expect(tokens.create({ description: "CI", permissions })).rejects.toMatchObject({ errors })
    const { id } = await tokens.create({ description: "CI", permissions: ["keys:read"] })
    await expect(tokens.update(id, { permissions })).rejects.toMatchObject({ errors })
  })

  it("are heeded by a second process within a second from when it began to read", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { store, reads } = countReads(get("store"))
        const [one, other] = [yield* startProcess(store), yield* startProcess(store)]
        const account = AccountName.make(freshAccount())
        const payload = { description: "CI", permissions: ["consumers:read"] }
        const { value } = yield* one.tokens.create({ params: { accountName: account }, payload })
        const params = { accountName: account, tokenId: value.id }
        const recognize = other.credentials.authenticate(value.token)
        expect(yield* recognize).toMatchObject({ id: value.id, permissions: ["consumers:read"] })
        yield* one.tokens.update({ params, payload: { permissions: ["keys:read"] } })
        const before = reads()
        yield* TestClock.adjust(999)
        expect(yield* recognize).toMatchObject({ permissions: ["consumers:read"] })
        expect(reads()).toBe(before)
        yield* TestClock.adjust(1)
        expect(yield* recognize).toMatchObject({ permissions: ["keys:read"] })
        yield* one.tokens.remove({ params })
        expect(yield* one.credentials.authenticate(value.token)).toBeUndefined()
        yield* TestClock.adjust(1_000)
        expect(yield* recognize).toBeUndefined()
      }).pipe(Effect.provide(TestClock.layer()), Effect.scoped)
    ))

  it("are read again a second after the read began, also if the read took long", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const inner = get("store")
        const [begun, released] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        let isSlow = true
        const slow: StoreOperations = {
          ...inner,
          getByUniqueKey: (...args) =>
            Effect.tap(inner.getByUniqueKey(...args), () => {
              if (!isSlow) return Effect.void
              isSlow = false
              return Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(released))
            })
        }
        const [one, other] = [yield* startProcess(inner), yield* startProcess(slow)]
        const account = AccountName.make(freshAccount())
        const payload = { description: "CI", permissions: ["consumers:read"] }
        const { value } = yield* one.tokens.create({ params: { accountName: account }, payload })
        const reading = yield* Effect.forkChild(other.credentials.authenticate(value.token))
        yield* Deferred.await(begun)
        yield* one.tokens.remove({ params: { accountName: account, tokenId: value.id } })
        yield* TestClock.adjust(900)
        yield* Deferred.succeed(released, undefined)
        expect(yield* Fiber.join(reading)).toBeDefined()
        yield* TestClock.adjust(100)
        expect(yield* other.credentials.authenticate(value.token)).toBeUndefined()
      }).pipe(Effect.provide(TestClock.layer()), Effect.scoped)
    ))

  it("end when they expire, also while a process remembers them, and when its clock is set back", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { store, reads } = countReads(get("store"))
        yield* TestClock.setTime(Date.UTC(2030, 0, 1))
        const { tokens, credentials } = yield* startProcess(store)
        const params = { accountName: AccountName.make(freshAccount()) }
        const inner = yield* Clock.Clock
        let aheadMs = 0
        const settable: Clock.Clock = {
          ...shiftClock(inner, 0),
          currentTimeMillisUnsafe: () => inner.currentTimeMillisUnsafe() + aheadMs
        }
        const isAccepted = (token: string) =>
          credentials.authenticate(token).pipe(
            Effect.map((caller) => caller !== undefined),
            Effect.provideService(Clock.Clock, settable)
          )
        const expiresOn = DateTime.add(yield* DateTime.now, { minutes: 12 })
        const payload = { description: "short", permissions: ["viewer"], expiresOn }
        const { token } = (yield* tokens.create({ params, payload })).value
        expect(yield* isAccepted(token)).toBe(true)
        yield* TestClock.adjust("719500 millis")
        expect(yield* isAccepted(token)).toBe(true)
        const before = reads()
        yield* TestClock.adjust(500)
        expect(yield* isAccepted(token)).toBe(false)
        expect(reads()).toBe(before)
        aheadMs = -3_600_000
        expect(yield* isAccepted(token)).toBe(false)
      }).pipe(Effect.provide(TestClock.layer()), Effect.scoped)
    ))

  it("say when they were last used", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.UTC(2030, 0, 1, 12, 0, 5))
        const { tokens, credentials } = yield* startProcess(get("store"))
        const accountName = AccountName.make(freshAccount())
        const create = tokens.create({
          params: { accountName },
          payload: { description: "CI", permissions: ["viewer"] }
        })
        const [used, unused] = [(yield* create).value, (yield* create).value]
        expect(used).not.toHaveProperty("lastUsedOn")
        expect(yield* credentials.authenticate(used.token)).toBeDefined()
        yield* TestClock.adjust("15 seconds")
        const read = Effect.map(
          tokens.get({ params: { accountName, tokenId: used.id } }),
          ({ value }) => value.lastUsedOn && DateTime.formatIso(value.lastUsedOn)
        )
        // The commit of a store takes real time, while the TestClock stands still.
        while ((yield* read) === undefined) yield* TestClock.withLive(Effect.sleep("20 millis"))
        expect(yield* read).toBe("2030-01-01T12:00:00.000Z")
        const { data } = yield* tokens.list({ params: { accountName }, query: { offset: 0, limit: 10 } })
        expect(data.map(({ id, lastUsedOn }) => [id, lastUsedOn !== undefined])).toEqual([
          [used.id, true],
          [unused.id, false]
        ])
      }).pipe(Effect.provide(TestClock.layer()), Effect.scoped)
    ))

  it("stay removed when changes of two processes race with the removal", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const [one, other] = [yield* startProcess(get("store")), yield* startProcess(get("store"))]
        const accountName = AccountName.make(freshAccount())
        for (let round = 0; round < 5; round++) {
          const payload = { description: "CI", permissions: ["viewer"] }
          const { id, token } = (yield* one.tokens.create({ params: { accountName }, payload })).value
          const params = { accountName, tokenId: id }
          const update = (index: number) =>
            Effect.exit(
              [one, other][index % 2]?.tokens.update({ params, payload: { description: `${index}` } }) ?? Effect.void
            )
          yield* Effect.all(
            [update(0), update(1), Effect.exit(other.tokens.remove({ params })), update(2), update(3)],
            {
              concurrency: "unbounded"
            }
          ).pipe(TestClock.withLive)
          expect(yield* Effect.flip(one.tokens.get({ params }))).toMatchObject({ _tag: "TokenNotFound" })
          yield* TestClock.adjust(1_000)
          for (const { credentials } of [one, other]) expect(yield* credentials.authenticate(token)).toBeUndefined()
        }
      }).pipe(Effect.provide(TestClock.layer()), Effect.scoped)
    ))

  it("are those of one account, also where two accounts share a partition", async () => {
    // The first digits of their hashes are the same.
    const [one, other] = [gate().account("account-165004"), gate().account("account-183271")]
    expect(toPartition("account-165004")).toBe(toPartition("account-183271"))
    const { id, token } = await one.tokens.create({ description: "mine", permissions: ["*"] })
    await other.tokens.create({ description: "theirs", permissions: ["*"] })
    expect((await other.tokens.list()).data.map(({ description }) => description)).toEqual(["theirs"])
    for (const attack of [
      other.tokens.get(id),
      other.tokens.update(id, { description: "x" }),
      other.tokens.remove(id)
    ]) {
      await expect(attack).rejects.toMatchObject({ _tag: "TokenNotFound" })
    }
    await other.sessions.removeAll()
    expect(await getStatus(gate(), "account-165004", token)).toBe(200)
    expect(await getStatus(gate(), "account-183271", token)).toBe(403)
  })
})

describe("tokens", () => {
  const open = () => openGate(MemoryStore.open())

  it("survive the replacement of the secret, and only by re-encryption", async () => {
    const account = freshAccount()
    const store = MemoryStore.open()
    const before = await openGate(store)
    const { token } = await before.account(account).tokens.create({ description: "CI", permissions: ["viewer"] })
    await before.close()
    const both = await openGate(store, { secret: [newSecret, secret] })
    expect(await getStatus(both, account, token)).toBe(200)
    expect(await both.reencryptKeys()).toMatchObject({ reencrypted: 1, undecryptable: 0 })
    expect(await both.reencryptKeys()).toMatchObject({ reencrypted: 0, unchanged: 1 })
    await both.close()
    const after = await openGate(store, { secret: newSecret })
    expect(await getStatus(after, account, token)).toBe(200)
    await after.close()
  })

  it("expire", async () => {
    const gate = await open()
    const account = gate.account("acme")
    const { token, id } = await account.tokens.create({
      description: "old",
      permissions: ["viewer"],
      expiresOn: "2020-01-01T00:00:00Z"
    })
    expect(await getStatus(gate, "acme", token)).toBe(401)
    await account.tokens.update(id, { expiresOn: "2999-01-01T00:00:00Z" })
    expect(await getStatus(gate, "acme", token)).toBe(200)
    await gate.close()
  })

  it("are managed over HTTP and by the client, by those who have the permission", async () => {
    const gate = await open()
    const call = makeClient(gate.handler)
    const path = "/v1/accounts/acme/tokens"
    const body = { description: "CI", permissions: ["consumers:read"] }
    expect(await call("POST", path, { token: writerToken, body })).toMatchObject({
      status: 403,
      body: { permission: "tokens:write" }
    })
    const created = await call("POST", path, { token: adminToken, body })
    expect(created.status).toBe(200)
    expect(created.body).toMatchObject(body)
    expect((await call("GET", path, { token: adminToken })).body.data).toHaveLength(1)
    expect((await call("GET", path, { token: writerToken })).status).toBe(403)
    const client = createClient({
      baseUrl: "http://gate",
      token: adminToken,
      modules: [tokensClient]
    })
    expect(typeof client.account("acme").tokens.create).toBe("function")
    const me = (await call("GET", "/v1/me", { token: created.body.token })).body
    expect(me).toMatchObject({ accountName: "acme", id: created.body.id, name: "CI", permissions: ["consumers:read"] })
    await gate.close()
  })

  it("grant nothing that their creator lacks", async () => {
    const gate = await open()
    const call = makeClient(gate.handler)
    const path = "/v1/accounts/acme/tokens"
    const make = async (permissions: ReadonlyArray<string>, token = adminToken) =>
      call("POST", path, { token, body: { description: "x", permissions } })
    const { token: manager, id } = (await make(["tokens:*", "consumers:write", "support"])).body
    const refused = ["*", "admin", "keys:reveal", "keys:write", "consumers:*"]
    for (const permission of refused) {
      expect(await make([permission], manager)).toMatchObject({ status: 403, body: { permission } })
    }
    for (const permission of [
      "consumers:read",
      "consumers:write",
      "viewer",
      "support",
      "keys:roll",
      "tokens:read",
      "tokens:*"
    ]) {
      expect([permission, (await make([permission], manager)).status]).toEqual([permission, 200])
    }
    const powerful = (await make(["*"])).body
    const patch = (id: string, body: object) => call("PATCH", `${path}/${id}`, { token: manager, body })
    expect((await patch(powerful.id, { expiresOn: null })).status).toBe(403)
    expect((await patch(powerful.id, { permissions: ["viewer"] })).status).toBe(403)
    expect((await patch(id, { permissions: ["*"] })).status).toBe(403)
    expect((await patch(id, { description: "y" })).status).toBe(200)
    expect((await call("DELETE", `${path}/${powerful.id}`, { token: manager })).status).toBe(204)
    await gate.close()
  })

  it("have permissions that exist, at least one, and at most a hundred of them exist", async () => {
    const gate = await open()
    const { tokens } = gate.account("acme")
    const invalid = { _tag: "InvalidInput" }
    await expect(tokens.create({ description: "x", permissions: ["consumer:write"] })).rejects.toMatchObject(invalid)
    await expect(tokens.create({ description: "x", permissions: [] })).rejects.toMatchObject(invalid)
    await expect(tokens.create({ description: "", permissions: ["*"] })).rejects.toMatchObject(invalid)
    for (const permission of ["", "*:write", "consumers:", "consumers:*:*", "Consumers:read", "keys", "role", "**"]) {
      await expect(tokens.create({ description: "x", permissions: [permission] })).rejects.toMatchObject(invalid)
    }
    const many = Array.from({ length: 101 }, () => "keys:read")
    await expect(tokens.create({ description: "x", permissions: many })).rejects.toMatchObject(invalid)
    const { id } = await tokens.create({ description: "x", permissions: many.slice(1) })
    for (const patch of [
      { permissions: [] },
      { permissions: ["consumer:write"] },
      { description: null },
      { token: "x" }
    ]) {
      await expect(tokens.update(id, patch as never)).rejects.toMatchObject(invalid)
    }
    for (const odd of ["tok_\u0000", `${id}\u0000`, "../x", "", "ses_4fGh7jKl0mNp3qRs6tUv9wXy"]) {
      await expect(tokens.get(odd)).rejects.toThrow()
    }
    await expect(tokens.create({ description: "a\u0000b", permissions: ["*"] })).rejects.toMatchObject(invalid)
    await tokens.remove(id)
    for (let index = 0; index < 100; index++) await tokens.create({ description: `${index}`, permissions: ["*"] })
    await expect(tokens.create({ description: "x", permissions: ["*"] })).rejects.toMatchObject({
      _tag: "LimitReached",
      limit: "tokensPerAccount"
    })
    await gate.close()
  })

  it("that were made up are refused without a store call", async () => {
    const { store, reads } = countReads(MemoryStore.open())
    const gate = await openGate(store)
    const { token } = await gate.account("acme").tokens.create({ description: "x", permissions: ["viewer"] })
    expect(await getStatus(gate, "acme", token)).toBe(200)
    expect(reads()).toBe(1)
    const wrong = `${token.slice(0, 20)}${token[20] === "a" ? "b" : "a"}${token.slice(21)}`
    for (const value of [wrong, `${token}0`, "tgm_", "tgm_x_y", token.replace("tgm", "tgs")]) {
      expect(await getStatus(gate, "acme", value)).toBe(401)
    }
    expect(reads()).toBe(1)
    await gate.close()
  })

  it("are not in a dump of the store", async () => {
    const memory = MemoryStore.open()
    const written: Array<unknown> = []
    const gate = await openGate({
      ...memory,
      commit: (...args) => {
        written.push(args)
        return memory.commit(...args)
      }
    })
    const { token } = await gate.account("acme").tokens.create({ description: "x", permissions: ["viewer"] })
    await gate.account("acme").tokens.create({ description: "y", permissions: ["viewer"] }, { idempotencyKey: "once" })
    const dump = JSON.stringify(written)
    expect(dump).not.toContain(token)
    expect(dump).not.toContain(token.slice(12, 44))
    expect(dump).toContain("encryptedHash")
    await gate.close()
  })
})
