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
import { attemptTtl, makeRequest, readReply, rewritten } from "./CommitRequest.ts"
import { type Connection, connect } from "./connect.ts"
import { gathered } from "./gathered.ts"
import { counterMember, keysOf } from "./Keys.ts"
import type { RedisStoreOptions } from "./options.ts"
import { unpackRecord } from "./packing.ts"
import { run, runAndWait } from "./run.ts"
import * as scripts from "./scripts.ts"
import type { RedisSource } from "./source.ts"
import { isLight, type LightCommit, makeTally } from "./tally.ts"
import { withPatience } from "./withPatience.ts"

type Operation = StoreUnavailable["operation"]
type Packed = string | null
type ClaimedReply = [key: string, record: string] | [key: string, record: string, parentKey: string, parent: Packed]
type PageReply = [total: number, keys: ReadonlyArray<string>, records: ReadonlyArray<Packed>]

/** So many records, or counters, are removed by one script of a `clear`. */
const clearedAtOnce = 500

const readClaimed = (reply: ClaimedReply | null): RecordWithParent | undefined => {
  if (reply === null) return undefined
  const [key, packed, parentKey, parent] = reply
  const record = unpackRecord(key, packed)
  return parentKey === undefined || parent === undefined || parent === null
    ? { record }
    : { record, parent: unpackRecord(parentKey, parent) }
}

const readPage = ([total, keys, records]: PageReply): StorePage => ({
  records: keys.flatMap((key, index) => {
    const packed = records[index]
    return packed === undefined || packed === null ? [] : [unpackRecord(key, packed)]
  }),
  total
})

const operations = (
  { client, writer, prefix, isClosed }: Connection,
  { waitReplicas }: RedisStoreOptions
): StoreOperations => {
  const keysIn = (partition: Partition.Partition) => keysOf(prefix, partition)

  const get = async (partition: Partition.Partition, keys: ReadonlyArray<string>) => {
    const packed = (await client.call("hmget", [keysIn(partition).records, ...keys])) as ReadonlyArray<Packed>
    return packed.map((record, index) => (record === null ? undefined : unpackRecord(keys[index] ?? "", record)))
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
    const request = makeRequest(keysIn(partition), attempt, changes, once, known)
    return readReply(await write(scripts.commit, request.keys, request.arguments), attempt, changes)
  }

  /** Removes some records, counters and remembered ids; tells whether any were left. */
  const clearSome = async (partition: Partition.Partition): Promise<boolean> => {
    const keys = keysIn(partition)
    const found = (await client.call("hrandfield", [
      keys.records,
      clearedAtOnce,
      "WITHVALUES"
    ])) as ReadonlyArray<string>
    const records = found.flatMap((key, index) => (index % 2 === 0 ? [unpackRecord(key, found[index + 1] ?? "")] : []))
    const deletes = records.map(({ key, version }): Change => ({ _tag: "Delete", key, expect: version }))
    const removed = await send(partition, randomUUID(), deletes, undefined, records)
    if (removed instanceof StoreConflict) {
      // Another writer was faster with one of them, and that one must not keep the others.
      for (const change of deletes) await send(partition, randomUUID(), [change], undefined, records)
    }
    const members = await client.zrange(keys.expiring, 0, String(clearedAtOnce - 1))
    await run(client, scripts.forget, [keys.expiring, ...members.map(keys.expiringKey)], members)
    return records.length + members.length > 0
  }

  /** Does what is safe to repeat. */
  const patiently = <A>(operation: Operation, run: () => Promise<A>): Effect.Effect<A, StoreUnavailable> =>
    withPatience(operation, isClosed, run)

  /** Commits that only check and count. They carry one id together, and may be sent again together. */
  const tally = gathered((partition, commits: ReadonlyArray<LightCommit>) => {
    const { keys, argument, read } = makeTally(keysIn(partition), randomUUID(), commits)
    return patiently("commit", async () => read(await write(scripts.tally, keys, [attemptTtl, argument])))
  })

  const claimed = gathered((partition, asked: ReadonlyArray<ReadonlyArray<string>>) =>
    patiently("getByUniqueKey", async () => {
      const { records, claims } = keysIn(partition)
      const found = (await run(client, scripts.claimed, [records, claims], asked.flat())) as ReadonlyArray<ClaimedReply>
      let next = 0
      return asked.map((claims) => claims.map(() => readClaimed(found[next++] ?? null)))
    })
  )

  const resultOf = (result: CommitResult | StoreConflict) =>
    result instanceof StoreConflict ? Effect.fail(result) : Effect.succeed(result)

  const clear: StoreOperations["clear"] = (partition) =>
    Effect.flatMap(
      patiently("clear", () => clearSome(partition)),
      (more) => (more ? clear(partition) : Effect.void)
    )

  return Store.make({
    get: (partition, keys) => patiently("get", () => get(partition, keys)),
    getByUniqueKey: claimed,
    list: (partition, queries) =>
      patiently("list", async () => {
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
      patiently("counters", async () => {
        const keys = keysIn(partition)
        const values = await client.mget(names.map((name) => keys.expiringKey(counterMember(name))))
        return values.map((value) => Number(value ?? 0))
      }),
    commit: (partition, changes, once) => {
      if (once === undefined && isLight(changes)) return Effect.flatMap(tally(partition, changes), resultOf)
      return Effect.suspend(() => {
        const attempt = randomUUID()
        const replaced = rewritten(changes)
        const apply = async () =>
          send(partition, attempt, changes, once, replaced.length === 0 ? [] : await get(partition, replaced))
        return Effect.flatMap(patiently("commit", apply), resultOf)
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
