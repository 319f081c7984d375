/**
 * A store on Redis or Redis Cluster that any number of processes can share.
 */
import { randomUUID } from "node:crypto"
import type { ConfigurationError } from "@tollgate/store"
import {
  type Change,
  type ClosableStore,
  type CommitResult,
  type IdempotencyRecord,
  maxPageBytes,
  type Partition,
  postingsInPiece,
  type ReadPiece,
  type RecordWithParent,
  readInPieces,
  Store,
  StoreConflict,
  type StoreContents,
  type StoreOpenError,
  type StoreOperations,
  type StorePage,
  type StoreQuery,
  type StoreRecord,
  type StoreUnavailable,
  type StoreWithContents
} from "@tollgate/store"
import {
  BatchQueue,
  captureCaller,
  makeRetryTransient,
  Options,
  StoreActivity,
  withCallerStack,
  withCallerTime
} from "@tollgate/store/internal"
import { Effect, type Layer, type Scope } from "effect"
import {
  type CallerTime,
  collectReplacedKeys,
  commitIdTtl,
  makeCommitRequest,
  readCommitReply
} from "./CommitRequest.ts"
import { classifyError, withoutCommand } from "./classifyError.ts"
import { type Connection, connect } from "./connect.ts"
import { makeContents } from "./contents.ts"
import { type CounterCommit, encodeCounterBatch, isCounterOnly } from "./counterBatch.ts"
import { makePartitionKeys, toCounterMember } from "./Keys.ts"
import { type RedisStoreOptions, redisStoreOptions } from "./options.ts"
import { decodeCreated, decodeMatch, decodeRecord } from "./recordCodec.ts"
import { runScript, runScriptAndWait } from "./runScript.ts"
import * as scripts from "./scripts.ts"
import type { RedisSource } from "./source.ts"

type EncodedRecord = string | null
type PageReply = [total: number, keys: ReadonlyArray<string>, records: ReadonlyArray<EncodedRecord>, hasMore: number]
/** The reply for a list that is to be read in pieces: its total if that is known, or -1, and where to keep it. */
type LargeReply = [total: number, kept: readonly [name: string, state: string], records: readonly [], mark: 2]
type PieceReply = [matches: number, keys: ReadonlyArray<string>, end: string]

const isLargeReply = (reply: PageReply | LargeReply): reply is LargeReply => reply[3] === 2

/** How many records are asked for at once, of which a reply has as many as it may. */
const recordsInReply = 100

/** The number of records, and of counters, that one script of a `clear` removes. */
const clearBatchSize = 500

/** Commands of a connection are pipelined, so batches need not wait. A running script blocks all clients: batches are small. */
const batchLimits = { maxBatchWeight: 32, maxRunningBatches: Number.POSITIVE_INFINITY, weigh: () => 1 }

interface CounterBatchItem {
  readonly changes: CounterCommit
  readonly time: CallerTime
}

/** Reads the records in the order in which they were looked up. */
const makeUniqueKeyReader = (reply: ReadonlyArray<string | null>) => {
  let next = 0
  return (): RecordWithParent | undefined => {
    const key = reply[next++]
    if (key == null) return undefined
    const record = decodeRecord(key, reply[next++] ?? "")
    const [parentKey, parent] = [reply[next++], reply[next++]]
    return parentKey == null || parent == null ? { record } : { record, parent: decodeRecord(parentKey, parent) }
  }
}

const readPage = ([total, keys, encodedRecords, hasMore]: PageReply): StorePage => {
  const records = keys.flatMap((key, index) => {
    const encoded = encodedRecords[index]
    return encoded === undefined || encoded === null ? [] : [decodeRecord(key, encoded)]
  })
  // Records of a long page that were deleted while it was read are missing.
  const last = encodedRecords.findLast((encoded) => encoded !== null)
  if (hasMore === 0 || last === undefined || last === null) return { records, total }
  return { records, total, next: decodeCreated(last) }
}

const makeOperations = (connection: Connection, { waitReplicas, clock }: RedisStoreOptions): StoreWithContents => {
  const { client, writer, lister, prefix, isClosed } = connection
  const activity = new StoreActivity()
  const batchOptions = { ...batchLimits, activity }
  const getKeys = (partition: Partition.Partition) => makePartitionKeys(prefix, partition)

  const decodeAll = (keys: ReadonlyArray<string>, encoded: ReadonlyArray<EncodedRecord>) =>
    encoded.map((record, index) => (record === null ? undefined : decodeRecord(keys[index] ?? "", record)))

  const get = async (partition: Partition.Partition, keys: ReadonlyArray<string>) =>
    decodeAll(keys, (await client.call("hmget", [getKeys(partition).records, ...keys])) as ReadonlyArray<EncodedRecord>)

  /** Reads the first of these records, as many as a reply may have. */
  const readSome = async (partition: Partition.Partition, keys: ReadonlyArray<string>) =>
    (await runScript(
      lister,
      scripts.readRecords,
      [getKeys(partition).records],
      keys.slice(0, recordsInReply)
    )) as ReadonlyArray<EncodedRecord>

  /** Reads the records that a commit replaces. The script of the commit checks that they are still the same. */
  const readReplaced = async (partition: Partition.Partition, keys: ReadonlyArray<string>) => {
    if (keys.length <= recordsInReply) return keys.length === 0 ? [] : get(partition, keys)
    const encoded: Array<EncodedRecord> = []
    while (encoded.length < keys.length) encoded.push(...(await readSome(partition, keys.slice(encoded.length))))
    return decodeAll(keys, encoded)
  }

  const write = (script: scripts.Script, keys: ReadonlyArray<string>, args: ReadonlyArray<string | number>) =>
    waitReplicas === undefined
      ? runScript(writer, script, keys, args)
      : runScriptAndWait(writer, script, keys, args, waitReplicas)

  /** Applies a commit, given the records that it replaces. Redis applies a commit with the same id only once. */
  const send = async (
    partition: Partition.Partition,
    commitId: string,
    changes: ReadonlyArray<Change>,
    idempotency: IdempotencyRecord | undefined,
    existing: ReadonlyArray<StoreRecord | undefined>,
    time?: CallerTime
  ): Promise<CommitResult | StoreConflict> => {
    const existingByKey = new Map<string, StoreRecord>()
    for (const record of existing) if (record !== undefined) existingByKey.set(record.key, record)
    const request = makeCommitRequest(getKeys(partition), commitId, changes, idempotency, existingByKey, time)
    return readCommitReply(await write(scripts.commit, request.keys, request.arguments), commitId, changes)
  }

  /** Removes one batch of records, counters and idempotency records. Returns whether there were any. */
  const clearBatch = async (partition: Partition.Partition): Promise<boolean> => {
    const keys = getKeys(partition)
    const fields = (await client.call("hrandfield", [
      keys.records,
      clearBatchSize,
      "WITHVALUES"
    ])) as ReadonlyArray<string>
    const records = fields.flatMap((key, index) =>
      index % 2 === 0 ? [decodeRecord(key, fields[index + 1] ?? "")] : []
    )
    const deletes = records.map(({ key, version }): Change => ({ _tag: "Delete", key, expect: version }))
    const result = await send(partition, randomUUID(), deletes, undefined, records)
    if (result instanceof StoreConflict) {
      // Another writer changed one of the records. Delete them one by one, so that it does not block the others.
      for (const change of deletes) await send(partition, randomUUID(), [change], undefined, records)
    }
    const members = await client.zrange(keys.expiring, 0, String(clearBatchSize - 1))
    const keysToDelete = [keys.totals, ...members.map(keys.expiringKey)]
    await runScript(client, scripts.deleteExpiring, [keys.expiring, ...keysToDelete], members)
    return records.length + members.length > 0
  }

  /** Runs an operation that is safe to repeat. */
  const retryTransient = makeRetryTransient({ activity, isClosed, classifyError, redactError: withoutCommand })

  /** Commits that only check records and change counters. A batch has one commit id and is retried as a whole. */
  const runCounterBatch = (partition: Partition.Partition, items: ReadonlyArray<CounterBatchItem>) => {
    const commits = items.map(({ changes }) => changes)
    const { keys, arguments: encoded, readReply } = encodeCounterBatch(getKeys(partition), randomUUID(), commits)
    const time = clock === "caller" ? Math.max(...items.map(({ time = 0 }) => time)) : ""
    const args = [commitIdTtl, ...encoded, time]
    return retryTransient("commit", async () => readReply(await write(scripts.countBatch, keys, args)))
  }
  const counterBatches = new BatchQueue(runCounterBatch, batchOptions)

  const commit = (
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>,
    idempotency: IdempotencyRecord | undefined,
    time?: CallerTime
  ) => {
    if (idempotency === undefined && isCounterOnly(changes))
      return Effect.flatMap(counterBatches.add(partition, { changes, time }), failOnConflict)
    return Effect.suspend(() => {
      const commitId = randomUUID()
      const keysToRead = collectReplacedKeys(changes)
      const apply = async () => {
        const existing = await readReplaced(partition, keysToRead)
        return send(partition, commitId, changes, idempotency, existing, time)
      }
      return Effect.flatMap(retryTransient("commit", apply), failOnConflict)
    })
  }

  const lookUp = (partition: Partition.Partition, lookups: ReadonlyArray<ReadonlyArray<string>>) =>
    retryTransient("getByUniqueKey", async () => {
      const { records, uniqueKeys } = getKeys(partition)
      const reply = await runScript(client, scripts.getByUniqueKey, [records, uniqueKeys], lookups.flat())
      const readNext = makeUniqueKeyReader(reply as ReadonlyArray<EncodedRecord>)
      return lookups.map((uniqueKeys) => uniqueKeys.map(readNext))
    })
  const lookupBatches = new BatchQueue(lookUp, batchOptions)

  const failOnConflict = (result: CommitResult | StoreConflict) =>
    result instanceof StoreConflict ? Effect.fail(result) : Effect.succeed(result)

  const clear: StoreOperations["clear"] = (partition) =>
    Effect.flatMap(
      retryTransient("clear", () => clearBatch(partition)),
      (hasMore) => (hasMore ? clear(partition) : Effect.void)
    )

  /** Reads the records of a page that are not in its first reply. */
  const completePage = Effect.fnUntraced(function* (
    partition: Partition.Partition,
    [total, keys, first, hasMore]: PageReply
  ): Effect.fn.Return<StorePage, StoreUnavailable> {
    const records = [...first]
    let bytes = records.reduce((sum, record) => sum + (record?.length ?? 0), 0)
    while (records.length < keys.length && bytes < maxPageBytes) {
      const reply = yield* retryTransient("list", () => readSome(partition, keys.slice(records.length)))
      for (const record of reply) {
        records.push(record)
        bytes += record?.length ?? 0
      }
    }
    return readPage([total, keys, records, records.length < keys.length ? 1 : hasMore])
  })

  /** Lists that are too large for one script, in pieces. */
  const listLarge = (partition: Partition.Partition, query: StoreQuery, [known, [name, state]]: LargeReply) => {
    const keys = getKeys(partition)
    const terms = query.indexTerms.map(keys.term)
    const size = Math.ceil(postingsInPiece / terms.length)
    const readPiece: ReadPiece<string, StoreUnavailable> = (after, skip, wanted) =>
      retryTransient("list", async () => {
        const args = [size, after ?? "", query.descending ? 1 : 0, skip, wanted]
        const [matches, items, end] = (await runScript(lister, scripts.listPiece, terms, args)) as PieceReply
        return { matches, items, end: end === "" ? undefined : Number(end) }
      })
    return Effect.gen(function* () {
      const { items, total } = yield* readInPieces(readPiece, query, known < 0 ? undefined : known)
      if (known < 0) {
        yield* retryTransient("list", () => runScript(lister, scripts.keepTotal, [keys.totals], [name, state, total]))
      }
      const pageKeys = items.slice(0, query.limit)
      return yield* completePage(partition, [total, pageKeys, [], items.length > pageKeys.length ? 1 : 0])
    })
  }

  const list: StoreOperations["list"] = (partition, queries) =>
    retryTransient("list", async () => {
      const keys = getKeys(partition)
      const scriptKeys = [keys.records]
      // During the migration of a slot, a cluster rejects a script with keys that do not exist, as the totals may.
      if (queries.some(({ indexTerms }) => indexTerms.length > 1)) scriptKeys.push(keys.sequence, keys.totals)
      const args = queries.flatMap(({ indexTerms: terms, offset, limit, descending, after = "" }) => [
        terms.length,
        ...terms.map((term) => scriptKeys.push(keys.term(term))),
        offset,
        limit,
        descending ? 1 : 0,
        after
      ])
      return (await runScript(lister, scripts.list, scriptKeys, args)) as ReadonlyArray<PageReply | LargeReply>
    }).pipe(
      Effect.flatMap((replies) =>
        Effect.forEach(replies, (reply, index) => {
          const query = queries[index]
          return isLargeReply(reply) && query !== undefined
            ? listLarge(partition, query, reply)
            : completePage(partition, reply as PageReply)
        })
      )
    )

  const operations = Store.make({
    description: activity.describe("redis"),
    get: (partition, keys) => retryTransient("get", () => get(partition, keys)),
    getByUniqueKey: (partition, uniqueKeys) => lookupBatches.add(partition, uniqueKeys),
    list,
    search: (partition, queries) =>
      retryTransient("search", async () => {
        const args = queries.flatMap(({ prefix, after = "", limit }) => [prefix, after, limit])
        const found = await runScript(lister, scripts.search, [getKeys(partition).search], args)
        return (found as ReadonlyArray<ReadonlyArray<string>>).map((members) => members.map(decodeMatch))
      }),
    counters: (partition, names) =>
      retryTransient("counters", async () => {
        const keys = getKeys(partition)
        const values = await client.mget(names.map((name) => keys.expiringKey(toCounterMember(name))))
        return values.map((value) => Number(value ?? 0))
      }),
    commit: withCallerTime(clock, commit),
    clear
  })
  return { ...operations, contents: makeContents(connection, retryTransient, write) }
}

const make = Effect.fnUntraced(function* (
  source: RedisSource,
  options: RedisStoreOptions | undefined
): Effect.fn.Return<StoreWithContents, StoreOpenError | ConfigurationError, Scope.Scope> {
  const decoded = yield* Options.decode(redisStoreOptions, options)
  return makeOperations(yield* connect(source, decoded), decoded)
})

/**
 * Opens a store on a Redis server or a Redis Cluster, which any number of processes can share.
 *
 * @example
 * ```ts
 * const store = await RedisStore.open("redis://localhost:6379")
 * await store.close()
 *
 * const program = Effect.provide(myProgram, RedisStore.layer("redis://localhost:6379"))
 * ```
 */
export const RedisStore = {
  /** Opens a store on a URL, on ioredis options, or on a duplicate of your ioredis client. Your client stays open. */
  layer: (
    source: RedisSource,
    options?: RedisStoreOptions
  ): Layer.Layer<Store | StoreContents, StoreOpenError | ConfigurationError> => Store.layer(make(source, options)),
  /** The same for callers outside Effect. */
  open: (source: RedisSource, options?: RedisStoreOptions): Promise<ClosableStore<StoreWithContents>> =>
    withCallerStack(Store.open(make(source, options), options?.logger), captureCaller(RedisStore.open))
}
