/**
 * A store on Redis or Redis Cluster, which any number of processes may share.
 */
import { randomUUID } from "node:crypto"
import {
  type Change,
  type ClosableStore,
  type CommitResult,
  type IdempotencyRecord,
  type Partition,
  type RecordWithParent,
  Store,
  StoreConflict,
  type StoreOpenError,
  type StoreOperations,
  type StorePage,
  type StoreRecord,
  type StoreUnavailable
} from "@tollgate/core"
import { Effect, Layer, type Scope } from "effect"
import { batchPerTick } from "./batchPerTick.ts"
import { attemptTtl, makeCommitRequest, readReply, replacedKeys } from "./CommitRequest.ts"
import { type Connection, connect } from "./connect.ts"
import { type CounterCommit, encodeCounterBatch, isCounterOnly } from "./counterBatch.ts"
import { counterMember, partitionKeys } from "./Keys.ts"
import type { RedisStoreOptions } from "./options.ts"
import { decodeRecord } from "./recordCodec.ts"
import { retryTransient } from "./retryTransient.ts"
import { run, runAndWait } from "./run.ts"
import * as scripts from "./scripts.ts"
import type { RedisSource } from "./source.ts"

type Operation = StoreUnavailable["operation"]
type Packed = string | null
type UniqueKeyReply = [key: string, record: string] | [key: string, record: string, parentKey: string, parent: Packed]
type PageReply = [total: number, keys: ReadonlyArray<string>, records: ReadonlyArray<Packed>]

/** So many records, or counters, are removed by one script of a `clear`. */
const clearBatchSize = 500

const readUniqueKeyReply = (reply: UniqueKeyReply | null): RecordWithParent | undefined => {
  if (reply === null) return undefined
  const [key, packed, parentKey, parent] = reply
  const record = decodeRecord(key, packed)
  return parentKey === undefined || parent === undefined || parent === null
    ? { record }
    : { record, parent: decodeRecord(parentKey, parent) }
}

const readPage = ([total, keys, records]: PageReply): StorePage => ({
  records: keys.flatMap((key, index) => {
    const packed = records[index]
    return packed === undefined || packed === null ? [] : [decodeRecord(key, packed)]
  }),
  total
})

const operations = (
  { client, writer, prefix, isClosed }: Connection,
  { waitReplicas }: RedisStoreOptions
): StoreOperations => {
  const keysIn = (partition: Partition.Partition) => partitionKeys(prefix, partition)

  const get = async (partition: Partition.Partition, keys: ReadonlyArray<string>) => {
    const packed = (await client.call("hmget", [keysIn(partition).records, ...keys])) as ReadonlyArray<Packed>
    return packed.map((record, index) => (record === null ? undefined : decodeRecord(keys[index] ?? "", record)))
  }

  const write = (script: scripts.Script, keys: ReadonlyArray<string>, args: ReadonlyArray<string | number>) =>
    waitReplicas === undefined ? run(writer, script, keys, args) : runAndWait(writer, script, keys, args, waitReplicas)

  /** Applies a commit, given what it replaces. The same attempt may be sent again: it is applied once. */
  const send = async (
    partition: Partition.Partition,
    attempt: string,
    changes: ReadonlyArray<Change>,
    once: IdempotencyRecord | undefined,
    existing: ReadonlyArray<StoreRecord | undefined>
  ): Promise<CommitResult | StoreConflict> => {
    const known = new Map<string, StoreRecord>()
    for (const record of existing) if (record !== undefined) known.set(record.key, record)
    const request = makeCommitRequest(keysIn(partition), attempt, changes, once, known)
    return readReply(await write(scripts.commit, request.keys, request.arguments), attempt, changes)
  }

  /** Removes some records, counters and remembered ids; tells whether any were left. */
  const clearBatch = async (partition: Partition.Partition): Promise<boolean> => {
    const keys = keysIn(partition)
    const found = (await client.call("hrandfield", [
      keys.records,
      clearBatchSize,
      "WITHVALUES"
    ])) as ReadonlyArray<string>
    const records = found.flatMap((key, index) => (index % 2 === 0 ? [decodeRecord(key, found[index + 1] ?? "")] : []))
    const deletes = records.map(({ key, version }): Change => ({ _tag: "Delete", key, expect: version }))
    const removed = await send(partition, randomUUID(), deletes, undefined, records)
    if (removed instanceof StoreConflict) {
      // Another writer was faster with one of them, and that one must not keep the others.
      for (const change of deletes) await send(partition, randomUUID(), [change], undefined, records)
    }
    const members = await client.zrange(keys.expiring, 0, String(clearBatchSize - 1))
    await run(client, scripts.deleteReplays, [keys.expiring, ...members.map(keys.expiringKey)], members)
    return records.length + members.length > 0
  }

  /** Does what is safe to repeat. */
  const withRetry = <A>(operation: Operation, run: () => Promise<A>): Effect.Effect<A, StoreUnavailable> =>
    retryTransient(operation, isClosed, run)

  /** Commits that only check and count. They carry one id together, and may be sent again together. */
  const countBatch = batchPerTick((partition, commits: ReadonlyArray<CounterCommit>) => {
    const { keys, argument, read } = encodeCounterBatch(keysIn(partition), randomUUID(), commits)
    return withRetry("commit", async () => read(await write(scripts.countBatch, keys, [attemptTtl, argument])))
  })

  const getByUniqueKey = batchPerTick((partition, asked: ReadonlyArray<ReadonlyArray<string>>) =>
    withRetry("getByUniqueKey", async () => {
      const { records, claims } = keysIn(partition)
      const found = (await run(
        client,
        scripts.getByUniqueKey,
        [records, claims],
        asked.flat()
      )) as ReadonlyArray<UniqueKeyReply>
      let next = 0
      return asked.map((claims) => claims.map(() => readUniqueKeyReply(found[next++] ?? null)))
    })
  )

  const toCommitResult = (result: CommitResult | StoreConflict) =>
    result instanceof StoreConflict ? Effect.fail(result) : Effect.succeed(result)

  const clear: StoreOperations["clear"] = (partition) =>
    Effect.flatMap(
      withRetry("clear", () => clearBatch(partition)),
      (more) => (more ? clear(partition) : Effect.void)
    )

  return Store.make({
    get: (partition, keys) => withRetry("get", () => get(partition, keys)),
    getByUniqueKey: getByUniqueKey,
    list: (partition, queries) =>
      withRetry("list", async () => {
        const keys = keysIn(partition)
        const declared = [keys.records]
        const args = queries.flatMap(({ indexTerms: terms, offset, limit }) => [
          terms.length,
          ...terms.map((term) => declared.push(keys.term(term))),
          offset,
          limit
        ])
        return ((await run(client, scripts.list, declared, args)) as ReadonlyArray<PageReply>).map(readPage)
      }),
    counters: (partition, names) =>
      withRetry("counters", async () => {
        const keys = keysIn(partition)
        const values = await client.mget(names.map((name) => keys.expiringKey(counterMember(name))))
        return values.map((value) => Number(value ?? 0))
      }),
    commit: (partition, changes, once) => {
      if (once === undefined && isCounterOnly(changes))
        return Effect.flatMap(countBatch(partition, changes), toCommitResult)
      return Effect.suspend(() => {
        const attempt = randomUUID()
        const replaced = replacedKeys(changes)
        const apply = async () =>
          send(partition, attempt, changes, once, replaced.length === 0 ? [] : await get(partition, replaced))
        return Effect.flatMap(withRetry("commit", apply), toCommitResult)
      })
    },
    clear
  })
}

const make = Effect.fnUntraced(function* (
  source: RedisSource,
  options: RedisStoreOptions = {}
): Effect.fn.Return<StoreOperations, StoreOpenError, Scope.Scope> {
  return operations(yield* connect(source, options), options)
})

/**
 * @example
 * ```ts
 * const store = await RedisStore.open("redis://localhost:6379")
 * await store.close()
 *
 * const program = Effect.provide(myProgram, RedisStore.layer("redis://localhost:6379"))
 * ```
 */
export const RedisStore = {
  /** A store on an address, or beside a client that the host has, which stays the host's. */
  layer: (source: RedisSource, options?: RedisStoreOptions): Layer.Layer<Store, StoreOpenError> =>
    Layer.effect(Store, make(source, options)),
  /** The same for callers outside Effect. */
  open: (source: RedisSource, options?: RedisStoreOptions): Promise<ClosableStore<StoreOperations>> =>
    Store.open(make(source, options))
}
