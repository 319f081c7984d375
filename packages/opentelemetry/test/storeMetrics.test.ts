/**
 * The metrics of the store are exactly what a store sees that counts for itself.
 */

import { MemoryStore } from "@tollgate/memory"
import { StoreConflict, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { Cause, Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import {
  countBy,
  groupBy,
  openSqlite,
  readText,
  repeat,
  startGate,
  sumSeries
} from "../../core/test/telemetry/gates.ts"
import { registerMetrics } from "./metering.ts"

type OperationName = "get" | "getByUniqueKey" | "list" | "counters" | "commit" | "clear"

const describeExit = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return ""
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted"
  const error = Cause.squash(exit.cause)
  return error instanceof StoreConflict ? error.reason : "unavailable"
}

/** Counts the operations of a store by their result. While `isAway` is true, they fail. */
const makeCountingStore = (store: StoreOperations) => {
  const results: Array<string> = []
  const outcomes: Array<string> = []
  const state = { isAway: false }
  const count =
    <Args extends Array<unknown>, A, E>(name: OperationName, operation: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args): Effect.Effect<A, E | StoreUnavailable> =>
      Effect.suspend(
        (): Effect.Effect<A, E | StoreUnavailable> =>
          state.isAway
            ? Effect.fail(new StoreUnavailable({ operation: "commit", problem: "away", outcome: "not-applied" }))
            : operation(...args)
      ).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            results.push(`${name} ${describeExit(exit)}`)
            if (name !== "commit") return
            const isReplayed = Exit.isSuccess(exit) && (exit.value as { replayed?: unknown }).replayed !== undefined
            outcomes.push(describeExit(exit) || (isReplayed ? "replayed" : "applied"))
          })
        )
      )
  const counting: StoreOperations = {
    ...store,
    get: count("get", store.get),
    getByUniqueKey: count("getByUniqueKey", store.getByUniqueKey),
    list: count("list", store.list),
    counters: count("counters", store.counters),
    commit: count("commit", store.commit) as StoreOperations["commit"],
    clear: count("clear", store.clear)
  }
  return { store: counting, state, results, outcomes }
}

describe.each([
  ["memory", async () => MemoryStore.open()],
  ["sqlite", openSqlite]
] as const)("the metrics of a %s store", (system, open) => {
  it("are the numbers of its operations by result", async () => {
    const { readSeries } = registerMetrics()
    const { store, state, results, outcomes } = makeCountingStore(await open())
    const gate = await startGate({ store })
    const acme = gate.account("acme")
    const production = acme.keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    const key = apiKeys?.[0]?.key ?? ""
    const ignore = () => undefined
    await Promise.all([
      ...repeat(30, (index) => production.consumers.create({ name: `c-${index % 10}` }).catch(ignore)),
      ...repeat(20, () => production.consumers.create({ name: "once" }, { idempotencyKey: "once" })),
      ...repeat(30, (index) => production.consumers.update("alice", { metadata: { index } }).catch(ignore)),
      ...repeat(60, () => production.authorize(key, { rateLimit: { limit: 10, per: "day" } }))
    ])
    state.isAway = true
    await Promise.all(repeat(15, (index) => production.consumers.create({ name: `away-${index}` }).catch(ignore)))
    await Promise.all(repeat(5, () => production.authorize(key).catch(ignore)))
    await gate.close()

    // Closing the gate may interrupt a commit of its background work.
    const expected = ["applied", "replayed", "stale", "rate-limited", "unavailable"]
    expect(new Set([...outcomes, "interrupted"])).toEqual(new Set([...expected, "interrupted"]))
    const ofSystem = { "db.system.name": system }
    for (const series of [
      await readSeries("tollgate.store.commits"),
      await readText(gate, "tollgate_store_commits_total")
    ]) {
      expect(groupBy(series, "tollgate.outcome")).toEqual(countBy(outcomes))
      expect(sumSeries(series, ofSystem)).toBe(outcomes.length)
    }
    const durations = [
      await readSeries("db.client.operation.duration"),
      await readText(gate, "db_client_operation_duration_seconds_count")
    ]
    for (const series of durations) {
      expect(groupBy(series, "db.operation.name", "error.type")).toEqual(countBy(results))
      expect(sumSeries(series, ofSystem)).toBe(results.length)
    }
  })
})
