/**
 * Benchmarks of Postgres, compared with hand-written prepared statements on a pool of the same size: one query for each
 * key, and one durable upsert for each use.
 */
import { PostgresStore } from "@tollgate/postgres"
import { Pool } from "pg"
import { concurrency, customers, loadCustomers, unreachableLimit } from "./customers.ts"
import { hashKey, load, makeBaselineRecords, toVerifyResult } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"
import { assertFound, makeVerify } from "./verify.ts"

/** As many connections as the store opens by default. */
export const openPool = (url: string): Pool => new Pool({ connectionString: url, max: 10 })

const insertKeys = async (pool: Pool, values: ReadonlyArray<string>): Promise<void> => {
  await pool.query(`CREATE TABLE consumer (id integer PRIMARY KEY, body text);
    CREATE TABLE key (hash text PRIMARY KEY, consumer integer, body text)`)
  for (let first = 0; first < values.length; first += 1000) {
    const records = values.slice(first, first + 1000).map((value, index) => makeBaselineRecords(value, first + index))
    const ids = records.map((_, index) => first + index)
    await pool.query("INSERT INTO consumer SELECT * FROM unnest($1::int[], $2::text[])", [
      ids,
      records.map(({ consumer }) => consumer)
    ])
    await pool.query("INSERT INTO key SELECT * FROM unnest($1::text[], $2::int[], $3::text[])", [
      records.map(({ hash }) => hash),
      ids,
      records.map(({ key }) => key)
    ])
  }
}

export const verifyOnPostgres = async ({ postgres }: Resources, count: number, effort: Effort): Promise<Row> => {
  const store = await PostgresStore.open(postgres, { schema: "verify" })
  const loaded = await load(store, count)
  const pool = openPool(postgres)
  await insertKeys(pool, loaded.values)
  // The statistics let the baseline's join use its indexes. No vacuum disturbs the measurement.
  await pool.query("VACUUM ANALYZE")
  const text =
    "SELECT key.body AS key, consumer.body AS consumer FROM key JOIN consumer ON consumer.id = key.consumer WHERE hash = $1"
  const baseline = async (index: number) => {
    const hash = hashKey(loaded.values[index % loaded.values.length] ?? "")
    const { rows } = await pool.query<{ key: string; consumer: string }>({ name: "find", text, values: [hash] })
    assertFound(rows[0] && toVerifyResult(rows[0].key, rows[0].consumer))
  }
  const comparison = await compare(
    runConcurrently(concurrency, makeVerify(loaded)),
    runConcurrently(concurrency, baseline),
    effort
  )
  await loaded.gate.close()
  await store.close()
  await pool.end()
  return {
    name: `verify, Postgres, ${count} keys, 64 concurrent`,
    comparedWith: "a hand-written prepared join",
    target: 1,
    ...comparison
  }
}

/** A plain increment with a maximum and an expiry. No row comes back if the maximum is reached. */
const increment = `INSERT INTO usage AS u VALUES ($1, 1, $3)
  ON CONFLICT (customer) DO UPDATE SET value = u.value + 1 WHERE u.value + 1 <= $2 RETURNING value`

export const consumeOnPostgres = async ({ postgres }: Resources, effort: Effort): Promise<Row> => {
  const store = await PostgresStore.open(postgres, { schema: "consume" })
  const { gate, consume } = await loadCustomers(store)
  const pool = openPool(postgres)
  await pool.query("CREATE TABLE usage (customer text PRIMARY KEY, value bigint NOT NULL, expires bigint NOT NULL)")
  const expires = Date.now() + 2_678_400_000
  const baseline = async (index: number) => {
    const values = [`customer-${index % customers}`, unreachableLimit, expires]
    const { rowCount } = await pool.query({ name: "increment", text: increment, values })
    if (rowCount !== 1) throw new Error("the baseline did not count the request")
  }
  const comparison = await compare(
    runConcurrently(concurrency, consume),
    runConcurrently(concurrency, baseline),
    effort
  )
  await gate.close()
  await store.close()
  await pool.end()
  return {
    name: "consume, Postgres, 64 concurrent",
    comparedWith: "a hand-written prepared upsert",
    ...comparison
  }
}
