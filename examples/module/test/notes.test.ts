/**
 * The module of the example, as its users see it: in process, over HTTP, in a client, in the log, in webhooks and with time.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { ConfigurationError, createTollgate, type TollgateOptions } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { AccountName, Events, Tollgate } from "@tollgate/core/effect"
import type { EventType } from "@tollgate/core/module"
import { Notes, notes } from "@tollgate/example-module"
import { NoteNotFound, notesClient } from "@tollgate/example-module/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { Store, type StoreOperations } from "@tollgate/store"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { eventually, waitForEvents } from "@tollgate/testing"
import { webhooks } from "@tollgate/webhooks"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll, onTestFinished } from "vitest"
import { grants, secret, stores, storesOnCallersClock, tokens } from "../../../packages/core/test/stores.ts"
import { startReceiver } from "../../../packages/webhooks/test/receivers.ts"

const noteTokens = ["notes:read", "notes:write", "consumers:write"].map((permission) => ({
  token: `a-token-for-tests-with-${permission.replace(":", "-")}`,
  account: "acme",
  permissions: [permission]
}))

const open = (store: StoreOperations, options: Partial<Omit<TollgateOptions, "modules">> = {}) =>
  createTollgate({
    store,
    secret,
    tokens: [...grants, ...noteTokens],
    modules: [notes(), webhooks({ allowPrivateNetworks: true })],
    ...options
  })
type Gate = Awaited<ReturnType<typeof open>>

const remark = { bucket: "production", consumer: "alice", text: "Pays by invoice." }
const other = { ...remark, consumer: "bob", text: "Called on Monday." }
const unknownId = "note_000000000000000000000000"

const readEvents = async (store: StoreOperations, gate: Gate, accountName = "acme") => {
  await Effect.runPromise(waitForEvents(store))
  const { data } = await gate.account(accountName).events.list({ order: "asc", type: "note.*" })
  return data
}

describe.each(stores)("notes on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  let store: StoreOperations
  let gate: Gate
  beforeAll(async () => {
    store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    gate = await open(store)
  })
  afterAll(async () => {
    await gate.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const send = async (method: string, path: string, options: { token?: string; body?: unknown; key?: string } = {}) => {
    const { token = tokens.writer, body, key } = options
    const response = await gate.handler(
      new Request(`http://gate/v1/accounts/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(key === undefined ? {} : { "idempotency-key": key }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    )
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }

  it("are created, listed and removed in process", async () => {
    const { notes } = gate.account("in-process")
    const note = await notes.create(remark)
    expect(note).toEqual({ ...remark, id: expect.stringMatching(/^note_\w{24}$/), createdOn: expect.any(String) })
    const second = await notes.create(other)
    expect((await notes.list()).data).toEqual([note, second])
    expect((await notes.list({ consumer: "bob" })).data).toEqual([second])
    const first = await notes.list({ limit: 1 })
    expect(first).toMatchObject({ data: [note], total: 2 })
    const all: Array<unknown> = []
    for await (const item of notes.list({ limit: 1 })) all.push(item)
    expect(all).toEqual([note, second])
    await notes.remove(note.id)
    expect((await notes.list()).data).toEqual([second])
    await expect(notes.remove(note.id)).rejects.toThrow(NoteNotFound)
    expect((await gate.accounts.list()).data.map(({ name }) => name)).toContain("in-process")
  })

  it("are created once for an idempotency key", async () => {
    const { notes } = gate.account("idempotent")
    const [first, second] = [
      await notes.create(remark, { idempotencyKey: "k" }),
      await notes.create(remark, { idempotencyKey: "k" })
    ]
    expect(second).toEqual(first)
    expect((await notes.list()).total).toBe(1)
    expect(await readEvents(store, gate, "idempotent")).toHaveLength(1)
  })

  it("have endpoints, which reject bad input", async () => {
    const created = await send("POST", "acme/notes", { body: remark })
    expect(created).toMatchObject({ status: 200, body: remark })
    expect((await send("GET", "acme/notes?consumer=alice")).body.data).toEqual([created.body])
    const bad: ReadonlyArray<readonly [body: unknown, pointer: string]> = [
      [{ ...remark, text: "" }, "/text"],
      [{ ...remark, text: "x".repeat(1_001) }, "/text"],
      [{ ...remark, consumer: "../bob" }, "/consumer"],
      [{ bucket: "production", consumer: "alice" }, "/text"],
      [{ ...remark, extra: 1 }, "/extra"]
    ]
    for (const [body, pointer] of bad) {
      const refused = await send("POST", "acme/notes", { body })
      expect(refused).toMatchObject({
        status: 400,
        body: { code: "bad-request", errors: [{ pointer }] }
      })
    }
    expect((await send("GET", "acme/notes?consumr=alice")).status).toBe(400)
    expect((await send("DELETE", "acme/notes/%00")).status).toBe(400)
    expect((await send("DELETE", `acme/notes/${created.body.id}`)).status).toBe(204)
    const again = await send("DELETE", `acme/notes/${created.body.id}`)
    expect(again).toMatchObject({ status: 404, body: { code: "note-not-found", noteId: created.body.id } })
  })

  it("have permissions of their own", async () => {
    for (const [{ token }, statuses] of [
      [noteTokens[0], [200, 403]],
      [noteTokens[1], [200, 200]],
      [noteTokens[2], [403, 403]]
    ] as ReadonlyArray<readonly [(typeof noteTokens)[0], ReadonlyArray<number>]>) {
      const created = await send("POST", "acme/notes", { token, body: remark })
      expect([token, (await send("GET", "acme/notes", { token })).status, created.status]).toEqual([token, ...statuses])
      if (created.status === 403) expect(created.body.permission).toBe("notes:write")
      else await gate.account("acme").notes.remove(created.body.id)
    }
  })

  it("belong to their account", async () => {
    const { id } = await gate.account("acme").notes.create(remark)
    const token = tokens.otherAccount
    for (const [method, path] of [
      ["GET", "notes"],
      ["POST", "notes"],
      ["DELETE", `notes/${id}`]
    ] as const) {
      const options = { token, ...(method === "POST" ? { body: remark } : {}) }
      expect((await send(method, `acme/${path}`, options)).status).toBe(403)
    }
    expect((await send("DELETE", `other/notes/${id}`, { token })).status).toBe(404)
    expect((await send("GET", "other/notes", { token })).body.total).toBe(0)
    expect((await send("GET", "acme/notes", { token: tokens.reader })).status).toBe(200)
    expect((await send("POST", "acme/notes", { token: tokens.reader, body: remark })).status).toBe(403)
    await gate.account("acme").notes.remove(id)
  })

  it("are in a client", async () => {
    const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
    onTestFinished(() => void server.close())
    await once(server, "listening")
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { notes } = createClient({ baseUrl, token: tokens.admin, modules: [notesClient] }).account("client")
    const note = await notes.create(remark)
    expect((await notes.list({ consumer: "alice" })).data).toEqual([note])
    await notes.remove(note.id)
    await expect(notes.remove(note.id)).rejects.toThrow(NoteNotFound)
    await expect(notes.remove(unknownId)).rejects.toMatchObject({ noteId: unknownId })
    // @ts-expect-error Without its module, a client has no notes.
    expect(createClient({ baseUrl, token: tokens.admin }).account("client").notes).toBeUndefined()
  })

  it("record events, which reach webhooks", async () => {
    const receiver = await startReceiver()
    const account = gate.account("events")
    await account.webhooks.create({ url: receiver.url, events: ["note.*"] })
    const note = await account.notes.create(remark, { actor: "carol" })
    await account.notes.remove(note.id)
    const events = await readEvents(store, gate, "events")
    expect(events).toMatchObject([
      {
        type: "note.created",
        subject: { type: "note", id: note.id },
        data: note,
        actor: { type: "host", id: "carol" }
      },
      { type: "note.deleted", subject: { type: "note", id: note.id }, data: note, actor: { type: "host" } }
    ])
    await eventually(() => expect(receiver.types().sort()).toEqual(["note.created", "note.deleted"]))
  })

  it("count towards the bytes of their account", async () => {
    const full = await open(store, { limits: { recordBytesPerAccount: 300 } })
    const { notes } = full.account("full")
    const fill = async () => {
      for (let count = 0; count < 10; count++) await notes.create(remark)
    }
    await expect(fill()).rejects.toMatchObject({ code: "limit-reached" })
    for await (const { id } of notes.list()) await notes.remove(id)
    await full.close()
  })

  it.each(["fail", "lose-reply"] satisfies ReadonlyArray<Fault>)(
    "and their events are one commit, when any store call has the fault %s",
    async (fault) => {
      const { store: faulty, injectAt, calls } = makeFaultyStore(store)
      // Without background work, all calls are those of the operations.
      const writer = await open(faulty, { background: false })
      const tryAt = async (call: number, change: () => Promise<unknown>) => {
        injectAt(call, fault)
        await change().catch((error) => expect(error).toMatchObject({ _tag: "StoreUnavailable" }))
        const isReached = calls() >= call
        injectAt(0, fault)
        return isReached
      }
      const states: Array<readonly [accountName: string, ids: ReadonlyArray<string>]> = []
      for (let call = 1, isReached = true; isReached; call++) {
        const accountName = `${fault}-${call}`
        const { notes } = writer.account(accountName)
        const kept = await notes.create(other)
        const isCreateReached = await tryAt(call, () => notes.create(remark))
        const isRemoveReached = await tryAt(call, () => notes.remove(kept.id))
        isReached = isCreateReached || isRemoveReached
        states.push([accountName, (await notes.list()).data.map(({ id }) => id)])
      }
      expect(states.length).toBeGreaterThan(3)
      for (const [accountName, ids] of states) {
        const events = await readEvents(store, gate, accountName)
        const idsOf = (type: string) => events.filter((event) => event.type === type).map(({ subject }) => subject.id)
        const left = idsOf("note.created").filter((id) => !idsOf("note.deleted").includes(id))
        expect(left.sort(), accountName).toEqual([...ids].sort())
      }
      await writer.close()
    }
  )
})

describe.each(storesOnCallersClock)("old notes on %s", (_, layer) => {
  it.effect("are removed by a job, in batches, with events of the system", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-11-16T09:30:00Z"))
      const accountName = AccountName.make("acme")
      const params = { accountName }
      const services = yield* Layer.build(
        Layer.fresh(Tollgate.layer({ secret, modules: [notes({ keepDays: 30 })] }).pipe(Layer.provide(layer)))
      )
      const clock = yield* Clock.Clock
      const run = <A, E>(use: Effect.Effect<A, E, Notes | Events>) =>
        Effect.provideService(Effect.provideContext(use, services), Clock.Clock, clock)
      const create = Effect.flatMap(Notes, ({ create }) => create({ params, payload: remark }))
      const query = { limit: 1, offset: 0 }
      const list = Effect.flatMap(Notes, ({ list }) => list({ params, query }))
      /** In real time, while the TestClock stands still. */
      const awaitTotal = <A extends { readonly total: number }, E>(
        read: Effect.Effect<A, E, Notes | Events>,
        total: number
      ) =>
        Effect.promise(() =>
          eventually(async () => {
            const page = await Effect.runPromise(run(read))
            expect(page.total).toBe(total)
            return page
          })
        )
      yield* run(Effect.repeat(create, { times: 149 }))
      yield* TestClock.adjust("10 days")
      yield* run(create)
      yield* TestClock.adjust("19 days")
      yield* awaitTotal(list, 151)
      yield* TestClock.adjust("1 day")
      yield* awaitTotal(list, 1)
      yield* TestClock.adjust("10 days")
      yield* awaitTotal(list, 0)
      const type: EventType = "note.deleted"
      const { data } = yield* awaitTotal(
        Effect.flatMap(Events, (events) => events.list({ params, query: { ...query, type } })),
        151
      )
      expect(data[0]).toMatchObject({ type, actor: { type: "system" } })
    })
  )
})

describe("the module", () => {
  it("is in the OpenAPI description, with examples", async () => {
    const gate = await open(MemoryStore.open())
    const response = await gate.handler(new Request("http://gate/v1/openapi.json"))
    // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
    const { paths } = (await response.json()) as any
    const { get, post } = paths["/v1/accounts/{accountName}/notes"]
    expect(get).toMatchObject({ operationId: "notes.list", summary: "List notes, oldest first", tags: ["Notes"] })
    const body = (part: { content: object }) => Object.values(part.content)[0]
    expect(body(post.requestBody).example).toEqual(remark)
    expect(body(post.responses[200]).example).toMatchObject(remark)
    expect(body(get.responses[200]).example).toMatchObject({ data: [remark], total: 1 })
    expect(Object.keys(paths["/v1/accounts/{accountName}/notes/{noteId}"].delete.responses)).toContain("404")
    await gate.close()
  })

  it("rejects wrong options, and adds nothing where it is not given", async () => {
    expect(() => notes({ keepDays: 0 })).toThrow(ConfigurationError)
    const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })
    // @ts-expect-error Without the module, an account has no notes.
    expect(gate.account("acme").notes).toBeUndefined()
    const headers = { authorization: `Bearer ${tokens.writer}` }
    const response = await gate.handler(new Request("http://gate/v1/accounts/acme/notes", { headers }))
    expect(response.status).toBe(404)
    await gate.close()
  })
})
