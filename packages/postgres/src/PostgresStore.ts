/**
 * A store in PostgreSQL that any number of processes can share.
 */
import type { ConfigurationError } from "@tollgate/store"
import {
  type ClosableStore,
  getSearchRange,
  type SearchMatch,
  Store,
  type StoreContents,
  type StoreOpenError,
  type StoreOperations,
  type StoreRecord,
  type StoreWithContents
} from "@tollgate/store"
import {
  captureCaller,
  makeRetryTransient,
  Options,
  StoreActivity,
  withCallerStack,
  withCallerTime
} from "@tollgate/store/internal"
import { Effect, type Layer, type Scope } from "effect"
import { escapeIdentifier } from "pg"
import { toNumberArray, toTextArray } from "./arrayLiteral.ts"
import { classifyError, withoutData } from "./classifyError.ts"
import { makeCommit } from "./commits.ts"
import { connect } from "./connect.ts"
import { makeContents } from "./contents.ts"
import type { Database } from "./Database.ts"
import { toIndexName } from "./indexName.ts"
import { decodeRow, makeLookups } from "./lookups.ts"
import { type MigrationSqlOptions, makeMigrationSql } from "./migrate.ts"
import { defaults, type PostgresStoreOptions, postgresStoreOptions } from "./options.ts"
import { decodeMatch } from "./recordCodec.ts"
import { Sweeper } from "./Sweeper.ts"
import type { PostgresSource } from "./source.ts"

/** The number of records, of counters and of replays that one call of a `clear` removes. */
const clearBatchSize = 500

const makeOperations = (
  database: Database,
  { schema: name = defaults.schema, clock }: PostgresStoreOptions
): StoreWithContents => {
  const schema = escapeIdentifier(name)
  const sweeper = new Sweeper(database, schema)
  const activity = new StoreActivity()
  const retryTransient = makeRetryTransient({
    activity,
    isClosed: database.isClosed,
    classifyError,
    redactError: withoutData
  })

  const lookups = makeLookups(database, schema, retryTransient, activity)
  const commit = makeCommit(database, schema, retryTransient, activity, sweeper.onCommit)
  const listSql = `SELECT q.position, p.total, p.next, p.version, p.header, p.body
    FROM ROWS FROM (
      jsonb_to_recordset($2::jsonb)
        AS (terms text[], "offset" bigint, "limit" bigint, descending boolean, after bigint)
    ) WITH ORDINALITY q (terms, skip, count, descending, after, position)
    CROSS JOIN LATERAL ${schema}.tollgate_page($1, q.terms, q.skip, q.count, q.descending, q.after) p`

  const list: StoreOperations["list"] = (partition, queries) =>
    retryTransient("list", async () => {
      const values = queries.map(({ indexTerms, offset, limit, descending, after }) => ({
        terms: Array.from(new Set(indexTerms), toIndexName),
        offset,
        limit,
        descending: descending === true,
        after
      }))
      const rows = await database.query(listSql, [toIndexName(partition), JSON.stringify(values)])
      const pages = queries.map((): { total: number; records: Array<StoreRecord>; next?: number } => ({
        total: 0,
        records: []
      }))
      for (const [number, total, next, ...columns] of rows) {
        const page = pages[Number(number) - 1]
        const record = decodeRow(columns)
        if (page === undefined) continue
        page.total = Number(total)
        if (next === null) delete page.next
        else page.next = Number(next)
        if (record !== undefined) page.records.push(record)
      }
      return pages
    })

  const searchSql = `SELECT * FROM ${schema}.tollgate_search_terms($1, $2, $3, $4)`
  const search: StoreOperations["search"] = (partition, queries) =>
    retryTransient("search", async () => {
      const ranges = queries.map(getSearchRange)
      const rows = await database.query(searchSql, [
        toIndexName(partition),
        toTextArray(ranges.map(({ from }) => from)),
        toTextArray(ranges.map(({ end = null }) => end)),
        toNumberArray(queries.map(({ limit }) => limit))
      ])
      const found = queries.map((): Array<SearchMatch> => [])
      for (const [position, ...columns] of rows) found[Number(position) - 1]?.push(decodeMatch(columns))
      return found
    })

  const clear: StoreOperations["clear"] = (partition) =>
    Effect.flatMap(
      retryTransient("clear", () =>
        database.query(`SELECT ${schema}.tollgate_clear($1, $2, $3)`, [
          toIndexName(partition),
          clearBatchSize,
          database.maxLockWait
        ])
      ),
      (rows) => (rows[0]?.[0] === "t" ? clear(partition) : Effect.void)
    )

  const operations = Store.make({
    description: activity.describe("postgresql"),
    ...lookups,
    list,
    search,
    commit: withCallerTime(clock, commit),
    clear
  })
  return { ...operations, contents: makeContents(database, schema, retryTransient) }
}

const make = Effect.fnUntraced(function* (
  source: PostgresSource,
  options: PostgresStoreOptions | undefined
): Effect.fn.Return<StoreWithContents, StoreOpenError | ConfigurationError, Scope.Scope> {
  const decoded = yield* Options.decode(postgresStoreOptions, options)
  return makeOperations(yield* connect(source, decoded), decoded)
})

/**
 * Opens a store in a PostgreSQL database, which any number of processes can share.
 *
 * @example
 * ```ts
 * const store = await PostgresStore.open("postgres://localhost/app")
 * await store.close()
 *
 * const program = Effect.provide(myProgram, PostgresStore.layer("postgres://localhost/app"))
 * ```
 */
export const PostgresStore = {
  /** Opens a store on a URL, with a pool of its own, or on your application's pool, which you still end yourself. */
  layer: (
    source: PostgresSource,
    options?: PostgresStoreOptions
  ): Layer.Layer<Store | StoreContents, StoreOpenError | ConfigurationError> => Store.layer(make(source, options)),
  /** The same for callers outside Effect. */
  open: (source: PostgresSource, options?: PostgresStoreOptions): Promise<ClosableStore<StoreWithContents>> =>
    withCallerStack(Store.open(make(source, options), options?.logger), captureCaller(PostgresStore.open)),
  /**
   * The SQL that creates or migrates the tables, for a role that may do so. `open` runs it itself if its role may.
   *
   * @example
   * ```ts
   * console.log(PostgresStore.migrationSql({ schema: "tollgate" }))
   * ```
   */
  migrationSql: (options?: MigrationSqlOptions): string => makeMigrationSql(options)
}
