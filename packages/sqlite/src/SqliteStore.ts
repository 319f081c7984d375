/**
 * A store in a SQLite file that several processes on one machine can share.
 */
import { randomUUID } from "node:crypto"
import { chmod, rename, rm, stat } from "node:fs/promises"
import { resolve } from "node:path"
import type { ConfigurationError } from "@tollgate/store"
import {
  type ClosableStore,
  type GetByUniqueKey,
  MicrosecondClock,
  type ReadPiece,
  readInPieces,
  Store,
  StoreConflict,
  StoreContents,
  type StoreOpenError,
  type StoreOperations,
  type StorePage,
  type StoreQuery,
  type StoreUnavailable,
  type StoreWithContents,
  withNow
} from "@tollgate/store"
import { captureCaller, makeDiskCheck, Options, withCallerStack } from "@tollgate/store/internal"
import type { Database } from "better-sqlite3"
import { Context, Effect, Exit, Layer, Schema, type Scope } from "effect"
import { CommitQueue } from "./CommitQueue.ts"
import { classifyError } from "./classifyError.ts"
import { connect } from "./connect.ts"
import { makeContents } from "./contents.ts"
import { createPrivateFile, privateMode } from "./privateFile.ts"
import { readWithRetry } from "./readWithRetry.ts"
import { SyncContents } from "./SyncContents.ts"
import { type LargeList, SyncOperations } from "./SyncOperations.ts"
import { type SqliteOptions, sqliteOptions } from "./source.ts"
import { prepareStatements } from "./statements.ts"

/** A backup failed. The file at its path, if any, is unchanged. */
export class BackupError extends Schema.TaggedError<BackupError>()("BackupError", {
  path: Schema.String,
  problem: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return `Cannot create the backup ${this.path}: ${this.problem}`
  }
}

/** A SQLite store: the operations of every store, and `backup`. */
export interface SqliteStoreOperations extends StoreWithContents {
  /**
   * Copies a consistent snapshot of the database while it is in use. The file appears at the path only when it is
   * complete. Only the owner can read a new file.
   */
  readonly backup: (path: string) => Effect.Effect<void, BackupError>
}

/** The number of records that one transaction of a `clear` removes. Other transactions can run in between. */
const clearBatchSize = 500

const getFileMode = (path: string): Promise<number> =>
  stat(path).then(
    ({ mode }) => mode & 0o777,
    () => privateMode
  )

const makeBackup =
  (database: Database) =>
  (path: string): Effect.Effect<void, BackupError> => {
    const partial = `${path}.${randomUUID()}.partial`
    const copy = async () => {
      try {
        createPrivateFile(partial)
        await database.backup(partial)
        // A backup that replaces a file keeps that file's mode.
        await chmod(partial, await getFileMode(path))
        // SQLite would read stale -wal and -shm files of a previous database as the backup's log.
        await Promise.all([`${path}-wal`, `${path}-shm`].map((leftover) => rm(leftover, { force: true })))
        await rename(partial, path)
      } finally {
        await rm(partial, { force: true })
      }
    }
    const fail = (problem: string) => Effect.fail(new BackupError({ path: String(path), problem }))
    return Effect.suspend(() => {
      if (typeof path !== "string" || path.trim() === "") {
        return fail('the path is not a non-empty string; pass one, such as "data/backup.db"')
      }
      if (resolve(path) === resolve(database.name))
        return fail("this is the path of the database itself; pass another path")
      return Effect.tryPromise({
        try: copy,
        catch: (cause) => new BackupError({ path, problem: classifyError(cause).problem, cause })
      })
    })
  }

const isPage = (page: StorePage | LargeList): page is StorePage => "records" in page

const makeOperations = (
  database: Database,
  operations: SyncOperations,
  queue: CommitQueue,
  isDiskLow: (() => boolean) | undefined
): StoreOperations => {
  const read = <A>(operation: StoreUnavailable["operation"], run: () => A) => readWithRetry(database, operation, run)

  const completePage = (page: StorePage | LargeList, query: StoreQuery | undefined) => {
    if (isPage(page) || query === undefined) return Effect.succeed(page as StorePage)
    const { readPiece, knownTotal, toPage } = page
    const readNext: ReadPiece<number, StoreUnavailable> = (after, skip, wanted) =>
      read("list", () => readPiece(after, skip, wanted))
    return Effect.flatMap(readInPieces(readNext, query, knownTotal), (found) => read("list", () => toPage(found)))
  }

  const clear: StoreOperations["clear"] = (partition) =>
    queue
      .submit("clear", () => Exit.succeed(operations.clearBatch(partition, clearBatchSize)))
      .pipe(Effect.flatMap((hasMore) => (hasMore ? clear(partition) : Effect.void)))

  return Store.make({
    description: { system: "sqlite", countQueued: () => queue.countPending(), isDiskLow },
    get: (partition, keys) => read("get", () => operations.get(partition, keys)),
    getByUniqueKey: withNow<GetByUniqueKey>(
      (partition, uniqueKeys) => read("getByUniqueKey", () => operations.getByUniqueKey(partition, uniqueKeys)),
      (partition, uniqueKeys) => {
        try {
          return Exit.succeed(operations.getByUniqueKey(partition, uniqueKeys))
        } catch {
          // The database is closed or locked, or cannot be read: the operation in a fiber says which, or waits.
          return undefined
        }
      }
    ),
    list: (partition, queries) =>
      Effect.flatMap(
        read("list", () => operations.list(partition, queries)),
        (pages) =>
          pages.every(isPage)
            ? Effect.succeed(pages)
            : Effect.forEach(pages, (page, index) => completePage(page, queries[index]))
      ),
    search: (partition, queries) => read("search", () => operations.search(partition, queries)),
    counters: (partition, names) =>
      Effect.clockWith((clock) => read("counters", () => operations.readCounters(partition, names, clock))),
    commit: (partition, changes, idempotency) =>
      Effect.clockWith((clock) =>
        queue.submit("commit", () => {
          const result = operations.apply(partition, changes, idempotency, clock)
          return result instanceof StoreConflict ? Exit.fail(result) : Exit.succeed(result)
        })
      ),
    clear
  })
}

const make = Effect.fnUntraced(function* (
  source: string | Database,
  options: SqliteOptions | undefined
): Effect.fn.Return<SqliteStoreOperations, StoreOpenError | ConfigurationError, Scope.Scope> {
  const decoded = yield* Options.decode(sqliteOptions, options)
  const database = yield* connect(source, decoded)
  const sql = prepareStatements(database)
  const microseconds = new MicrosecondClock(decoded.clock)
  const operations = new SyncOperations(database, sql, microseconds)
  const queue = yield* Effect.acquireRelease(
    Effect.sync(() => new CommitQueue(database, operations.cache)),
    (queue) => Effect.promise(() => queue.close())
  )
  const syncContents = new SyncContents(sql, operations.cache, microseconds)
  const isDiskLow = database.memory ? undefined : makeDiskCheck(database.name, decoded.freeDiskReserveMebibytes)
  return {
    ...makeOperations(database, operations, queue, isDiskLow),
    contents: makeContents(database, syncContents, queue),
    backup: makeBackup(database)
  }
})

/**
 * Opens a store in a SQLite file, which several processes on one machine can share.
 *
 * @example
 * ```ts
 * const store = await SqliteStore.open("data/tollgate.db")
 * await store.backup("data/backup.db")
 * await store.close()
 *
 * const program = Effect.provide(myProgram, SqliteStore.layer("data/tollgate.db"))
 * ```
 */
export class SqliteStore extends Context.Service<SqliteStore, SqliteStoreOperations>()("@tollgate/sqlite/SqliteStore") {
  /** Opens a store on a path, or on the file of your open `Database`, which you still close yourself. */
  static layer(
    source: string | Database,
    options?: SqliteOptions
  ): Layer.Layer<Store | StoreContents | SqliteStore, StoreOpenError | ConfigurationError> {
    return Layer.effectContext(
      Effect.map(make(source, options), (store) =>
        Context.make(Store, store).pipe(Context.add(StoreContents, store.contents), Context.add(SqliteStore, store))
      )
    )
  }

  /** The same for callers outside Effect. */
  static async open(
    source: string | Database,
    options?: SqliteOptions
  ): Promise<ClosableStore<StoreWithContents> & { readonly backup: (path: string) => Promise<void> }> {
    const store = await withCallerStack(Store.open(make(source, options)), captureCaller(SqliteStore.open))
    return { ...store, backup: (path) => Effect.runPromise(store.backup(path)) }
  }
}
