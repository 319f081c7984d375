/**
 * The metrics that stores on a server have: repeated attempts, and operations that wait for their batch.
 */
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { eventually, startPostgres, startRedis, startTerminatingProxy } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { readText, repeat, startGate, sumSeries } from "../../core/test/telemetry/gates.ts"
import { registerMetrics } from "./metering.ts"

/** Runs an effect whose resources are released when the test ends. */
const runScoped = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> => {
  const scope = Scope.makeUnsafe()
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.runPromise(Scope.provide(effect, scope))
}

describe("the metrics of a PostgreSQL store", () => {
  it("count attempts that are repeated because the connection was lost", async () => {
    const { readSeries } = registerMetrics()
    const server = await runScoped(startPostgres())
    const proxy = await runScoped(startTerminatingProxy(server.url))
    const store = await PostgresStore.open(proxy.url)
    onTestFinished(() => store.close())
    const gate = await startGate({ store })
    const { consumers } = gate.account("acme").keyBucket("production")
    await consumers.create({ name: "before" })
    const readRetries = async () => [
      sumSeries(await readSeries("tollgate.store.retries"), { "db.system.name": "postgresql" }),
      sumSeries(await readText(gate, "tollgate_store_retries_total"), { "db.system.name": "postgresql" })
    ]
    expect(await readRetries()).toEqual([0, 0])
    proxy.terminateNext(2)
    await Effect.runPromise(server.terminateBackends)
    await consumers.create({ name: "after" })
    proxy.terminateNext(0)
    expect(proxy.terminations()).toBeGreaterThan(0)
    await eventually(async () => {
      const [exported, text] = await readRetries()
      expect(exported).toBeGreaterThanOrEqual(proxy.terminations())
      expect(text).toBe(exported)
    })
  })
})

describe("the metrics of a Redis store", () => {
  it("count commits of batches one by one, and no waiting operation once all have ended", async () => {
    const { readSeries } = registerMetrics()
    const { url } = await runScoped(startRedis())
    const store = await RedisStore.open(url)
    onTestFinished(() => store.close())
    const gate = await startGate({ store })
    const production = gate.account("acme").keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    const key = apiKeys?.[0]?.key
    const rateLimit = { limit: 1_000, per: "day" } as const
    const decisions = await Promise.all(repeat(200, () => production.authorize(key, { rateLimit })))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(200)
    const series = await readSeries("tollgate.store.commits")
    const applied = { "db.system.name": "redis", "tollgate.outcome": "applied" }
    expect(sumSeries(series, applied)).toBeGreaterThanOrEqual(200)
    await expect
      .poll(async () => await readSeries("tollgate.store.queue"))
      .toEqual([{ attributes: { "db.system.name": "redis" }, value: 0 }])
    expect(sumSeries(await readText(gate, "tollgate_store_queue"))).toBe(0)
  })
})
