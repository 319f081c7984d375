/**
 * Mixed load over 64 connections for a while, on SQLite and on a Redis that is restarted under it: every request is
 * answered, nothing leaks, and at the end everything fits together. `SOAK_SECONDS` says how long: a minute each here, five
 * when it counts.
 */
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { createTollgate, type StoreOperations } from "@tollgate/core"
import { toNodeHandler } from "@tollgate/node"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { heapAfterCollection, makeSubscription, type RedisServer, startRedis } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, expect, it } from "vitest"
import { randomFrom, seedFrom } from "./random.ts"
import { secret } from "./stores.ts"

const seconds = Number(process.env["SOAK_SECONDS"] ?? 60)
const seed = seedFrom("SOAK_SEED")
const connections = 64
const consumers = 200
const maximum = 100_000
/** How often the heap is looked at. The first times tell of what is being warmed up. */
const parts = 12

/** What is to be closed after a test, however it ends; the last first. */
const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
}, 30_000)

// biome-ignore lint/suspicious/noExplicitAny: a test reads answers as they come
type Json = any

const soak = async (store: StoreOperations, redis?: RedisServer) => {
  const token = "a-token-of-the-soak-test"
  const gate = await createTollgate({
    store,
    secret,
    tokens: [{ token, account: "acme" }]
  })
  const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  let isOver = false
  closing.push(async () => {
    isOver = true
    agent.destroy()
    server.close()
    server.closeAllConnections()
    await gate.close()
  })
  const call = (method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      const sent = request({ port, host: "127.0.0.1", method, path, headers, agent }, (res) => {
        let text = ""
        res.setEncoding("utf8").on("data", (chunk) => {
          text += chunk
        })
        res.once("end", () =>
          resolve({ status: res.statusCode ?? 0, body: text === "" ? undefined : JSON.parse(text) })
        )
      })
      sent.once("error", reject).end(body === undefined ? undefined : JSON.stringify(body))
    })

  const prefix = "/v1/accounts/acme/key-buckets/b"
  const bucket = `/v1/metering/${(await call("POST", "/v1/metering")).body.id}`
  const plan = { label: "P", planExternalId: "p", meters: { requests: { max: maximum } } }
  const { id: planId } = (await call("POST", `${bucket}/plans`, plan)).body
  const subscription = makeSubscription(planId, "p", { renewalStrategy: "yearly" as const, customerKey: "c" })
  const { id } = (await call("POST", `${bucket}/subscriptions`, subscription)).body
  const quotas = `${bucket}/subscriptions/${id}/quotas`

  const statuses = new Map<number, number>()
  let [answered, unanswered, consumed, untold] = [0, 0, 0, 0]
  const values: Array<string> = []
  const { pick, below } = randomFrom(seed)
  const name = () => `c-${below(consumers)}`
  const works: ReadonlyArray<() => Promise<{ status: number; body: Json }>> = [
    async () => {
      const made = await call("POST", `${prefix}/consumers?with-api-key=true`, {
        name: name(),
        tags: { team: pick(["a", "b"]) }
      })
      if (made.status === 200 && values.length < 2000) values.push(made.body.apiKeys[0].key)
      return made
    },
    () => call("DELETE", `${prefix}/consumers/${name()}`),
    () => call("GET", `${prefix}/consumers/${name()}?include-api-keys=true`),
    () => call("GET", `${prefix}/consumers?tag.team=a&limit=20`),
    () => call("POST", `${prefix}/consumers/${name()}/keys`, {}),
    () => call("POST", `${prefix}/consumers/${name()}/roll-key`, { expiresOn: "2031-01-01T00:00:00Z" }),
    () => call("PATCH", `${prefix}/consumers/${name()}`, { description: "changed" }),
    () => call("POST", `${prefix}/$verify`, { key: pick(values) ?? "none" }),
    () => call("GET", quotas),
    async () => {
      const used = await call("POST", `${quotas}/consume`, { meters: { requests: 1 } })
      if (used.status === 200) consumed++
      if (used.status === 503) untold++
      return used
    }
  ]
  const lane = async () => {
    while (!isOver) {
      try {
        const { status } = await pick(works)()
        answered++
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      } catch {
        unanswered++
      }
    }
  }
  const started = performance.now()
  const lanes = Array.from({ length: connections }, lane)
  const heaps: Array<number> = []
  for (let part = 1; part <= parts; part++) {
    await delay((part / parts) * seconds * 1000 - (performance.now() - started))
    heaps.push(heapAfterCollection() / 1024 / 1024)
    if (redis !== undefined && part % 2 === 0) await Effect.runPromise(redis.restart)
  }
  isOver = true
  await Promise.all(lanes)
  // The last restart may be a moment ago.
  await expect.poll(async () => (await call("GET", "/readyz")).status, { timeout: 10_000 }).toBe(200)

  let [orphans, keys, found] = [0, 0, 0]
  const { data, total } = (await call("GET", `${prefix}/consumers`)).body
  for (const consumer of data) {
    const page = (await call("GET", `${prefix}/consumers/${consumer.name}/keys?key-format=visible`)).body
    expect(page.data.length).toBe(page.total)
    keys += page.total
    for (const { key } of page.data.slice(0, 3)) {
      const verified = (await call("POST", `${prefix}/$verify`, { key })).body
      if (verified.valid && verified.consumer.name === consumer.name) found++
      else orphans++
    }
  }
  for (const key of values) {
    const verified = (await call("POST", `${prefix}/$verify`, { key })).body
    if (verified.valid && !data.some((consumer: Json) => consumer.id === verified.consumer.id)) orphans++
  }
  const { used } = (await call("GET", quotas)).body.meters.requests
  return {
    answered,
    unanswered,
    statuses,
    heaps,
    total,
    listed: data.length,
    keys,
    found,
    orphans,
    used,
    consumed,
    untold
  }
}

const judge = (name: string, result: Awaited<ReturnType<typeof soak>>) => {
  const { answered, unanswered, statuses, heaps, total, listed, keys, orphans, used, consumed, untold } = result
  const told = [...statuses].sort(([left], [right]) => left - right).map(([status, count]) => `${status}: ${count}`)
  const [first, last] = [Math.min(...heaps.slice(2, 5)), Math.min(...heaps.slice(-3))]
  console.log(
    `soak, ${name}: seed ${seed}, ${seconds} s, ${answered} answered (${told.join(", ")}), ${unanswered} not; ${total} consumers, ${keys} keys, ${orphans} orphans; ${used} used of ${consumed} told; heap ${first.toFixed(0)} → ${last.toFixed(0)} MiB`
  )
  expect(unanswered).toBe(0)
  expect(orphans).toBe(0)
  expect(listed).toBe(total)
  expect(statuses.get(500) ?? 0).toBe(0)
  expect(used).toBeGreaterThanOrEqual(consumed)
  expect(used).toBeLessThanOrEqual(Math.min(maximum, consumed + untold))
  // Long enough a run tells a leak from what is being warmed up.
  if (seconds >= 60) expect(last).toBeLessThan(first * 1.1)
}

const patience = seconds * 1000 + 120_000

it(
  "on SQLite",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-soak-"))
    closing.push(async () => rmSync(folder, { recursive: true, force: true }))
    const store = await SqliteStore.open(join(folder, "store.db"))
    closing.push(store.close)
    judge("SQLite", await soak(store))
  },
  patience
)

it(
  "on a Redis that is restarted under it",
  async () => {
    const scope = Scope.makeUnsafe()
    closing.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    closing.push(store.close)
    judge("Redis", await soak(store, server))
  },
  patience
)
