/**
 * Mixed load of four processes on one PostgreSQL server. No deadlock, serialization failure or other error reaches a
 * caller, and the tables are consistent at the end. `MIXED_LOAD_SECONDS` sets the duration; the default is 20, and 60 with
 * --all.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { PostgresStore } from "@tollgate/postgres"
import { makeSubscription, type PostgresServer, runWorkers, startPostgres } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { account, bucket, type MixedLoadResult } from "./mixedLoad.ts"
import type { MixedLoadWorkerInput } from "./mixedLoad.worker.ts"
import { readSeed } from "./random.ts"
import { isComplete } from "./sample.ts"
import { secret } from "./stores.ts"

const seconds = Number(process.env["MIXED_LOAD_SECONDS"] ?? (isComplete ? 60 : 20))
const seed = readSeed("MIXED_LOAD_SEED")
const rate = 100

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const setUpMetering = async (gate: Tollgate) => {
  const acme = gate.account(account)
  const { id: bucketId } = await acme.meteringBuckets.create()
  const meteringBucket = acme.meteringBucket(bucketId)
  const { id: planId } = await meteringBucket.plans.create({
    label: "P",
    planExternalId: "p",
    meters: { requests: { max: 1e9 } },
    rateLimits: { steady: { limit: rate, per: "second" } }
  })
  const { id: subscriptionId } = await meteringBucket.subscriptions.create(
    makeSubscription(planId, "p", { renewalStrategy: "yearly" as const, customerKey: "customer" })
  )
  const { apiKeys } = await acme.keyBucket(bucket).consumers.create({ name: "customer" }, { withApiKey: true })
  return { bucketId, subscriptionId, customerKey: apiKeys[0].key ?? "" }
}

/** The records that have each term, from the bits of the postings. */
const postings = `(
  SELECT t.term, split_part(t.term, ':', 1) || ':' || lpad(to_hex(p.chunk * 1024 + bit), 13, '0') AS record
  FROM tollgate.tollgate_postings p LEFT JOIN tollgate.tollgate_terms t ON t.id = p.term
  CROSS JOIN generate_series(0, 1023) bit WHERE get_bit(p.records, bit) = 1
)`

/** The terms or unique keys of each record, with the id of the partition, as the other tables have them. */
const namesOfRecords = (column: string): string =>
  `SELECT split_part(r.id, ':', 1) || ':' || name, r.id FROM tollgate.tollgate_records r CROSS JOIN unnest(r.${column}) name`

const searchRows = `
  SELECT term, split_part(term, ':', 1) || ':' || lpad(to_hex(number), 13, '0') FROM tollgate.tollgate_search`

/** Rows that must not exist, by what they would mean. */
const inconsistencies: Readonly<Record<string, string>> = {
  "totals of terms that differ from their postings": `
    SELECT t.term FROM tollgate.tollgate_terms t LEFT JOIN ${postings} p ON p.term = t.term
    GROUP BY t.term, t.total HAVING t.total = 0 OR t.total <> count(p.record)`,
  "terms of records without a posting": `${namesOfRecords("terms")} EXCEPT SELECT term, record FROM ${postings} p`,
  "postings without a record that has the term": `SELECT term, record FROM ${postings} p EXCEPT ${namesOfRecords("terms")}`,
  "postings without a bit": "SELECT term FROM tollgate.tollgate_postings WHERE bit_count(records) = 0",
  "unique keys of records without a row": `
    ${namesOfRecords("unique_keys")} EXCEPT SELECT unique_key, record FROM tollgate.tollgate_unique_keys`,
  "unique keys without a record that has them": `
    SELECT unique_key, record FROM tollgate.tollgate_unique_keys EXCEPT ${namesOfRecords("unique_keys")}`,
  "search terms of records without a row": `${namesOfRecords("search_terms")} EXCEPT ${searchRows}`,
  "search terms without a record that has them": `${searchRows} EXCEPT ${namesOfRecords("search_terms")}`,
  "records without a partition": `
    SELECT key FROM tollgate.tollgate_records
    WHERE split_part(id, ':', 1)::bigint NOT IN (SELECT id FROM tollgate.tollgate_partitions)`,
  "records with the number of another id or partition": `
    SELECT key FROM tollgate.tollgate_records
    WHERE split_part(id, ':', 1) <> split_part(key, ':', 1) OR lpad(to_hex(number), 13, '0') <> split_part(id, ':', 2)`
}

/** Keys that are listed and not valid for their consumer, and lists whose total is wrong. */
const findBrokenConsumers = async (gate: Tollgate): Promise<ReadonlyArray<string>> => {
  const keyBucket = gate.account(account).keyBucket(bucket)
  const { data, total } = await keyBucket.consumers.list({ apiKeys: true, keyFormat: "visible" })
  const broken = data.length === total ? [] : ["the list of consumers"]
  for (const { name, apiKeys = [] } of data) {
    if ((await keyBucket.keys.list(name)).total !== apiKeys.length) broken.push(name)
    for (const { key } of apiKeys) {
      const verified = await keyBucket.verify(key)
      if (!verified.valid || verified.consumer.name !== name) broken.push(`a key of ${name}`)
    }
  }
  return broken
}

const printSizes = async ({ query }: PostgresServer): Promise<void> => {
  const sizes = await Effect.runPromise(
    query(`SELECT relname AS "table", pg_size_pretty(pg_total_relation_size(relid)) AS size,
      n_live_tup AS rows, n_dead_tup AS dead, n_tup_upd AS updates, n_tup_hot_upd AS hot, autovacuum_count AS vacuums
      FROM pg_stat_user_tables WHERE schemaname = 'tollgate' ORDER BY relname`)
  )
  console.table(sizes)
}

it(
  "four processes: no error reaches a caller, and the tables are consistent",
  async () => {
    const server = await Effect.runPromise(Scope.provide(startPostgres(), scope))
    const store = await PostgresStore.open(server.url)
    const gate = await createTollgate({ store, secret })
    const metering = await setUpMetering(gate)
    const started = performance.now()
    const results = await runWorkers<MixedLoadResult>(
      new URL("./mixedLoad.worker.ts", import.meta.url),
      [0, 1, 2, 3].map(
        (process): MixedLoadWorkerInput => ({
          ...metering,
          process,
          seed: seed + process,
          durationMs: seconds * 1_000,
          shared: { store: "Postgres", location: server.url },
          secret
        })
      )
    )
    const elapsed = (performance.now() - started) / 1_000

    const counts = new Map<string, number>()
    for (const { outcomes } of results) {
      for (const [outcome, count] of Object.entries(outcomes)) counts.set(outcome, (counts.get(outcome) ?? 0) + count)
    }
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    console.log(
      `mixed load, PostgreSQL, 4 processes: seed ${seed}, ${total} operations in ${elapsed.toFixed(0)} s: ` +
        [...counts]
          .map(([outcome, count]) => `${outcome} ${count}`)
          .sort()
          .join(", ")
    )
    await printSizes(server)
    expect(results.flatMap(({ failures }) => failures)).toEqual([])
    const [statistics] = await Effect.runPromise(
      server.query("SELECT deadlocks::int FROM pg_stat_database WHERE datname = 'postgres'")
    )
    expect(statistics).toEqual({ deadlocks: 0 })
    for (const [name, sql] of Object.entries(inconsistencies)) {
      expect(await Effect.runPromise(server.query(sql)), name).toEqual([])
    }
    expect(await findBrokenConsumers(gate)).toEqual([])
    const consumed = results.reduce((sum, result) => sum + result.consumed, 0)
    const quotas = await gate.account(account).meteringBucket(metering.bucketId).usage.quotas(metering.subscriptionId)
    expect(quotas.meters["requests"]?.used).toBe(consumed)
    const authorized = counts.get("authorize done") ?? 0
    expect(authorized).toBeGreaterThan(0)
    await gate.close()
    await store.close()
  },
  seconds * 1_000 + 120_000
)
