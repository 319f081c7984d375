/**
 * Mixed load over 64 connections, on SQLite, and on a Redis and a PostgreSQL server that restart under load. Every request gets a
 * response, nothing leaks, and the data is consistent at the end. `SOAK_SECONDS` sets the duration per store;
 * the default is 15, and 30 with --all.
 */
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { createTollgate } from "@tollgate/core"
import { toNodeHandler } from "@tollgate/node"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import { makeSubscription, measureHeapAfterGc, startPostgres, startRedis } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, expect, it } from "vitest"
import { makeRandom, readSeed } from "./random.ts"
import { isComplete } from "./sample.ts"
import { secret } from "./stores.ts"

const seconds = Number(process.env["SOAK_SECONDS"] ?? (isComplete ? 30 : 15))
const seed = readSeed("SOAK_SEED")
const connections = 64
const consumers = 200
const maximum = 100_000
/** How often the heap is measured. The first measurements include the warm-up. */
const samples = 12

/** Run after each test in reverse order. */
const finalizers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of finalizers.splice(0).reverse()) await close()
}, 30_000)

// biome-ignore lint/suspicious/noExplicitAny: tests read response bodies without schemas
type Json = any

const runSoak = async (store: StoreOperations, restart: Effect.Effect<void> = Effect.void) => {
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
  finalizers.push(async () => {
    isOver = true
    agent.destroy()
    server.close()
    server.closeAllConnections()
    await gate.close()
  })
  const call = (method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      const req = request({ port, host: "127.0.0.1", method, path, headers, agent }, (res) => {
        let text = ""
        res.setEncoding("utf8").on("data", (chunk) => {
          text += chunk
        })
        res.once("end", () =>
          resolve({ status: res.statusCode ?? 0, body: text === "" ? undefined : JSON.parse(text) })
        )
      })
      req.once("error", reject).end(body === undefined ? undefined : JSON.stringify(body))
    })

  const prefix = "/v1/accounts/acme/key-buckets/b"
  const bucket = `/v1/metering/${(await call("POST", "/v1/metering")).body.id}`
  const plan = { label: "P", planExternalId: "p", meters: { requests: { max: maximum } } }
  const { id: planId } = (await call("POST", `${bucket}/plans`, plan)).body
  const subscription = makeSubscription(planId, "p", { renewalStrategy: "yearly" as const, customerKey: "c" })
  const { id } = (await call("POST", `${bucket}/subscriptions`, subscription)).body
  const quotas = `${bucket}/subscriptions/${id}/quotas`

  const statuses = new Map<number, number>()
  let [responses, failures, consumed, unknownOutcomes] = [0, 0, 0, 0]
  const keyValues: Array<string> = []
  const { pick, below } = makeRandom(seed)
  const pickName = () => `c-${below(consumers)}`
  const requests: ReadonlyArray<() => Promise<{ status: number; body: Json }>> = [
    async () => {
      const created = await call("POST", `${prefix}/consumers?with-api-key=true`, {
        name: pickName(),
        tags: { team: pick(["a", "b"]) }
      })
      if (created.status === 200 && keyValues.length < 2000) keyValues.push(created.body.apiKeys[0].key)
      return created
    },
    () => call("DELETE", `${prefix}/consumers/${pickName()}`),
    () => call("GET", `${prefix}/consumers/${pickName()}?include-api-keys=true`),
    () => call("GET", `${prefix}/consumers?tag.team=a&limit=20`),
    () => call("POST", `${prefix}/consumers/${pickName()}/keys`, {}),
    () => call("POST", `${prefix}/consumers/${pickName()}/roll-key`, { expiresOn: "2031-01-01T00:00:00Z" }),
    () => call("PATCH", `${prefix}/consumers/${pickName()}`, { description: "changed" }),
    () => call("POST", `${prefix}/$verify`, { key: pick(keyValues) ?? "none" }),
    () => call("GET", quotas),
    async () => {
      const used = await call("POST", `${quotas}/consume`, { meters: { requests: 1 } })
      if (used.status === 200) consumed++
      if (used.status === 503) unknownOutcomes++
      return used
    }
  ]
  const sendRequests = async () => {
    while (!isOver) {
      try {
        const { status } = await pick(requests)()
        responses++
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      } catch {
        failures++
      }
    }
  }
  const started = performance.now()
  const lanes = Array.from({ length: connections }, sendRequests)
  const heaps: Array<number> = []
  for (let sample = 1; sample <= samples; sample++) {
    await delay((sample / samples) * seconds * 1000 - (performance.now() - started))
    heaps.push(measureHeapAfterGc() / 1024 / 1024)
    if (sample % 2 === 0) await Effect.runPromise(restart)
  }
  isOver = true
  await Promise.all(lanes)
  // The server may still be restarting.
  await expect.poll(async () => (await call("GET", "/readyz")).status, { timeout: 30_000 }).toBe(200)

  let [orphans, keys] = [0, 0]
  const { data, total } = (await call("GET", `${prefix}/consumers`)).body
  for (const consumer of data) {
    const page = (await call("GET", `${prefix}/consumers/${consumer.name}/keys?key-format=visible`)).body
    expect(page.data.length).toBe(page.total)
    keys += page.total
    for (const { key } of page.data.slice(0, 3)) {
      const verified = (await call("POST", `${prefix}/$verify`, { key })).body
      if (!verified.valid || verified.consumer.name !== consumer.name) orphans++
    }
  }
  for (const key of keyValues) {
    const verified = (await call("POST", `${prefix}/$verify`, { key })).body
    if (verified.valid && !data.some((consumer: Json) => consumer.id === verified.consumer.id)) orphans++
  }
  const { used } = (await call("GET", quotas)).body.meters.requests
  return {
    responses,
    failures,
    statuses,
    heaps,
    total,
    listed: data.length,
    keys,
    orphans,
    used,
    consumed,
    unknownOutcomes
  }
}

const checkResult = (name: string, result: Awaited<ReturnType<typeof runSoak>>) => {
  const { responses, failures, statuses, heaps, total, listed, keys, orphans, used, consumed, unknownOutcomes } = result
  const counts = [...statuses].sort(([left], [right]) => left - right).map(([status, count]) => `${status}: ${count}`)
  const [first, last] = [Math.min(...heaps.slice(2, 5)), Math.min(...heaps.slice(-3))]
  console.log(
    `soak, ${name}: seed ${seed}, ${seconds} s, ${responses} responses (${counts.join(", ")}), ${failures} requests without one; ${total} consumers, ${keys} keys, ${orphans} orphans; ${used} uses counted, ${consumed} acknowledged; heap ${first.toFixed(0)} → ${last.toFixed(0)} MiB`
  )
  expect(failures).toBe(0)
  expect(orphans).toBe(0)
  expect(listed).toBe(total)
  expect(statuses.get(500) ?? 0).toBe(0)
  expect(used).toBeGreaterThanOrEqual(consumed)
  expect(used).toBeLessThanOrEqual(Math.min(maximum, consumed + unknownOutcomes))
  // Short runs cannot tell a leak from the warm-up.
  if (seconds >= 60) expect(last).toBeLessThan(first * 1.1)
}

const timeoutMs = seconds * 1000 + 120_000

it(
  "on SQLite",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-soak-"))
    finalizers.push(async () => rmSync(folder, { recursive: true, force: true }))
    const store = await SqliteStore.open(join(folder, "store.db"))
    finalizers.push(store.close)
    checkResult("SQLite", await runSoak(store))
  },
  timeoutMs
)

it(
  "on a Redis server that restarts under load",
  async () => {
    const scope = Scope.makeUnsafe()
    finalizers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    finalizers.push(store.close)
    checkResult("Redis", await runSoak(store, server.restart))
  },
  timeoutMs
)

it(
  "on a PostgreSQL server that restarts under load",
  async () => {
    const scope = Scope.makeUnsafe()
    finalizers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const server = await Effect.runPromise(Scope.provide(startPostgres(), scope))
    const store = await PostgresStore.open(server.url)
    finalizers.push(store.close)
    checkResult("PostgreSQL", await runSoak(store, server.restart))
  },
  timeoutMs
)
