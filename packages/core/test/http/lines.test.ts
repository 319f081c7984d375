/**
 * Lists as lines of JSON: to their end, from any place, and as fast as the client reads.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { toNodeHandler } from "@tollgate/node"
import { AccountName, StoreUnavailable } from "@tollgate/store/internal"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { Unauthorized } from "../../src/access/AccessError.ts"
import type { PrincipalShape } from "../../src/access/Principal.ts"
import { RequestContext } from "../../src/http/RequestContext.ts"
import { type LineSource, streamLines } from "../../src/http/streamLines.ts"
import { createConsumers, freshAccount, openGate, readLog, useGate } from "../eventGates.ts"
import { stores, tokens } from "../stores.ts"

const accept = "application/x-ndjson"
const principal: PrincipalShape = { id: "token", account: AccountName.make("acme"), access: "read" }

/** A source of pages with one number each. */
const makeSource = (pages: number, options: Partial<LineSource> = {}) => {
  const counts = { reads: 0, authentications: 0 }
  const source: LineSource = {
    principal,
    authorize: Effect.sync(() => {
      counts.authentications++
      return principal
    }),
    read: (_, after = "0") =>
      Effect.sync(() => {
        counts.reads++
        const page = Number(after) + 1
        return { data: [page], ...(page < pages ? { next: String(page) } : {}) }
      }),
    encode: Exit.succeed,
    ...options
  }
  return { counts, source }
}

const send = (source: LineSource) => {
  const { signal } = new AbortController()
  const context = { request: { signal: () => signal } } as RequestContext["Service"]
  return streamLines(source).pipe(Effect.provideService(RequestContext, context))
}

const readLine = (reader: ReadableStreamDefaultReader<Uint8Array>) =>
  Effect.promise(async () => {
    const { value } = await reader.read()
    return value && new TextDecoder().decode(value)
  })

describe("a list as lines", () => {
  it.effect("reads a page when the client has the last one", () =>
    Effect.gen(function* () {
      const { counts, source } = makeSource(1_000)
      const { status, headers, body } = yield* send(source)
      assert.deepStrictEqual([status, headers], [200, { "content-type": accept, vary: "Accept" }])
      const reader = body.getReader()
      for (let page = 1; page <= 20; page++) {
        assert.strictEqual(yield* readLine(reader), `${page}\n`)
        assert.isAtMost(counts.reads, page + 1)
      }
      yield* Effect.promise(() => reader.cancel())
      assert.isAtMost(counts.reads, 21)
    })
  )

  it.effect("breaks off if it cannot be read to its end", () =>
    Effect.gen(function* () {
      const { source } = makeSource(9)
      const read: LineSource["read"] = (principal, after) =>
        after === "3"
          ? Effect.fail(new StoreUnavailable({ operation: "list", outcome: "not-applied" }))
          : source.read(principal, after)
      const { body } = yield* send({ ...source, read })
      const text = yield* Effect.exit(Effect.tryPromise(() => new Response(body).text()))
      assert.isTrue(Exit.isFailure(text))
      const failure = yield* Effect.exit(
        send({
          ...source,
          read: () => Effect.fail(new StoreUnavailable({ operation: "list", outcome: "not-applied" }))
        })
      )
      assert.isTrue(Exit.isFailure(failure))
    })
  )

  it.effect("authenticates its caller again after 10 seconds, and breaks off when it may not read any more", () =>
    Effect.gen(function* () {
      let isRevoked = false
      const made = makeSource(9)
      const authorize = Effect.suspend(() => (isRevoked ? Effect.fail(new Unauthorized()) : made.source.authorize))
      const { body } = yield* send({ ...made.source, authorize })
      const reader = body.getReader()
      assert.strictEqual(yield* readLine(reader), "1\n")
      assert.strictEqual(made.counts.authentications, 0)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* readLine(reader), "2\n")
      assert.strictEqual(made.counts.authentications, 1)
      isRevoked = true
      yield* TestClock.adjust("10 seconds")
      const last = yield* Effect.exit(Effect.tryPromise(() => reader.read()))
      assert.isTrue(Exit.isFailure(last))
    })
  )
})

describe.each(stores)("lists as lines, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)

  const getLines = async (path: string, headers: Record<string, string> = {}) => {
    const request = new Request(`http://gate/v1${path}`, {
      headers: { authorization: `Bearer ${tokens.admin}`, accept, ...headers }
    })
    const response = await gate().handler(request)
    expect([response.status, response.headers.get("content-type")]).toEqual([200, accept])
    const text = await response.text()
    expect(text === "" || text.endsWith("\n")).toBe(true)
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }

  it("are all events, from the oldest, from the newest and after one", async () => {
    const accountName = freshAccount()
    await createConsumers(gate(), accountName, 230)
    const log = await readLog(store(), gate(), accountName)
    const path = `/accounts/${accountName}/events`
    expect(await getLines(`${path}?order=asc&limit=7`)).toEqual(log)
    expect(await getLines(path)).toEqual(log.toReversed())
    expect(await getLines(`${path}?after=${log[19]?.id}`)).toEqual(log.slice(20))
    expect(await getLines(`${path}?after=${log[19]?.id}&offset=5`)).toEqual(log.slice(25))
    expect(await getLines(`${path}?after=${log.at(-1)?.id}`)).toEqual([])
    expect(await getLines(`${path}?after=${log[0]?.id}&type=key.*`)).toEqual([])
    const preferred = "application/json, application/x-ndjson;q=0.5"
    const headers = { authorization: `Bearer ${tokens.admin}`, accept: preferred }
    const response = await gate().handler(new Request(`http://gate/v1${path}`, { headers }))
    expect(response.headers.get("vary")).toContain("Accept")
    expect(await response.json()).toMatchObject({ total: log.length })
  })

  it("are pages after an event in process, each once, also while old ones are dropped", async () => {
    const accountName = freshAccount()
    await createConsumers(gate(), accountName, 30)
    const log = await readLog(store(), gate(), accountName)
    const { events } = gate().account(accountName)
    const first = await events.list({ after: log[9]?.id, limit: 4 })
    expect(first).toMatchObject({ data: log.slice(10, 14), total: log.length - 10, next: log[13]?.id })
    const ids: Array<string> = []
    for await (const { id } of events.list({ after: log[9]?.id, limit: 4 })) ids.push(id)
    expect(ids).toEqual(log.slice(10).map(({ id }) => id))
    await expect(events.list({ after: log[0]?.id, order: "desc" })).rejects.toMatchObject({ status: 400 })

    const keeping = await openGate(store(), { events: { maxEventsPerAccount: 12 } })
    expect((await keeping.account(accountName).events.list()).total).toBe(12)
    await keeping.close()
    await expect(events.list({ after: log[9]?.id })).rejects.toMatchObject({
      status: 400,
      errors: [{ parameter: "after", detail: expect.stringContaining("not in the log any more") }]
    })
    expect((await events.list({ after: log.at(-3)?.id })).data).toEqual(log.slice(-2))
  })

  it("are customers and subscriptions, with what they have used", async () => {
    const accountName = freshAccount()
    const billing = await gate().account(accountName).meteringBuckets.ensure("default")
    await billing.plans.create({ planExternalId: "pro", meters: { requests: { max: 10 } } })
    const keys = Array.from({ length: 120 }, (_, index) => `c-${index}`)
    for (const customerKey of keys) await billing.subscriptions.create({ customerKey, planExternalIds: ["pro"] })
    await billing.customer("c-110").consume({ requests: 3 })
    for (const list of ["customers", "subscriptions"]) {
      const lines = await getLines(`/metering/${billing.id}/${list}?include=usage`)
      expect(lines.map(({ customerKey }) => customerKey)).toEqual(keys)
      expect(lines[110]).toMatchObject({ usage: { meters: { requests: { remaining: 7 } } } })
    }
  })

  it("are sent on a connection, compressed or not", async () => {
    const accountName = freshAccount()
    await createConsumers(gate(), accountName, 150)
    const log = await readLog(store(), gate(), accountName)
    const server = createServer(toNodeHandler(gate()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/accounts/${accountName}/events?order=asc`
    for (const encoding of ["identity", "gzip"]) {
      const headers = { authorization: `Bearer ${tokens.admin}`, accept, "accept-encoding": encoding }
      const text = await (await fetch(url, { headers })).text()
      expect(text.split("\n")).toHaveLength(log.length + 1)
    }
    await new Promise((resolve) => server.close(resolve))
  })

  it("hold no place when only their head is asked for, or the client goes away", async () => {
    const accountName = freshAccount()
    await createConsumers(gate(), accountName, 101)
    await readLog(store(), gate(), accountName)
    const headers = { authorization: `Bearer ${tokens.admin}`, accept }
    const url = `http://gate/v1/accounts/${accountName}/events`
    for (let count = 0; count < 10; count++) {
      const head = await gate().handler(new Request(url, { method: "HEAD", headers }))
      expect([head.status, await head.text()]).toEqual([200, ""])
      const left = await gate().handler(new Request(url, { headers }))
      const reader = left.body?.getReader()
      expect((await reader?.read())?.done).toBe(false)
      await reader?.cancel()
    }
  })

  it("say what is wrong with a request", async () => {
    const headers = { authorization: `Bearer ${tokens.admin}`, accept }
    const get = (path: string) => gate().handler(new Request(`http://gate/v1${path}`, { headers }))
    expect((await get(`/accounts/${freshAccount()}/events?limit=no`)).status).toBe(400)
    expect((await get(`/accounts/${freshAccount()}/events?after=evt_${"0".repeat(24)}`)).status).toBe(400)
    expect((await get("/metering/bckt_missing/customers")).status).toBe(404)
  })
})
