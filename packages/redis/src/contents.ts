/**
 * Everything below the prefix, as streams of short reads.
 */

import {
  maxBatchSize,
  StoreContents,
  type StoreContentsOperations,
  StoreEntry,
  type StoreUnavailable
} from "@tollgate/store"
import { ChunkedSort, type RetryTransient } from "@tollgate/store/internal"
import { Effect, Option, Stream } from "effect"
import type { Redis } from "ioredis"
import type { Connection } from "./connect.ts"
import * as scripts from "./contentScripts.ts"
import { encodeEntries } from "./encodeEntries.ts"
import { type Keys, makePartitionKeys, makePartitionPattern, parseExpiringMember, parsePartition } from "./Keys.ts"
import { decodeRecord } from "./recordCodec.ts"
import { decodeReplay } from "./replays.ts"
import { runScript } from "./runScript.ts"
import type { Script } from "./scripts.ts"
import { isCluster } from "./source.ts"

type Batch = ReadonlyArray<StoreEntry>
type Batches = Stream.Stream<Batch, StoreUnavailable>

/** The names that one script reads. */
const pageSize = 500

/** Redis keeps each key of a cluster on one master. */
const listMasters = ({ client }: Connection): ReadonlyArray<Redis> =>
  isCluster(client) ? client.nodes("master") : [client]

const scan = async (node: Redis, cursor: string, pattern: string) => {
  // A cluster connects to a node at its first command, and does not queue it.
  if (node.status === "wait") await node.connect()
  return node.scan(cursor, "MATCH", pattern, "COUNT", 1_000)
}

const toExpiringEntry = (member: string, value: string, expiresAt: number): StoreEntry => {
  const { kind, name } = parseExpiringMember(member)
  if (kind === "counter") return StoreEntry.Counter({ name, value: Number(value), expiresAt })
  const { commitId: _, ...replay } = decodeReplay(value)
  return StoreEntry.Replay({ id: name, ...replay, expiresAt })
}

export const makeContents = (
  connection: Connection,
  retryTransient: RetryTransient,
  write: (script: Script, keys: ReadonlyArray<string>, args: ReadonlyArray<string | number>) => Promise<unknown>
): StoreContentsOperations => {
  const { client, prefix } = connection
  const read = <A>(attempt: () => Promise<A>) => retryTransient("read", attempt)

  /** The keys of all records in the order of creation. A hash has no order, so this collects the keys first. */
  const sortRecordKeys = Effect.fnUntraced(function* (keys: Keys) {
    const sorted = new ChunkedSort<string>()
    let cursor = "0"
    do {
      const [next = "0", ...fields] = (yield* read(() =>
        runScript(client, scripts.scanRecords, [keys.records], [cursor])
      )) as ReadonlyArray<string>
      for (let index = 0; index < fields.length; index += 2) sorted.add(Number(fields[index + 1]), fields[index] ?? "")
      cursor = next
    } while (cursor !== "0")
    return sorted
  })

  /** Reads names page by page. `readPage` returns the entries of the first names, and how many names it read. */
  const readNames = (
    names: ReadonlyArray<string>,
    readPage: (names: ReadonlyArray<string>) => Promise<{ readonly entries: Batch; readonly count: number }>
  ): Batches =>
    Stream.paginate(names, (rest) =>
      Effect.map(
        read(() => readPage(rest)),
        ({ entries, count }) => [
          entries.length === 0 ? [] : [entries],
          count < rest.length ? Option.some(rest.slice(count)) : Option.none()
        ]
      )
    )

  const readRecords = (keys: Keys): Batches =>
    Stream.unwrap(Effect.map(sortRecordKeys(keys), Stream.fromIterable)).pipe(
      Stream.grouped(pageSize),
      Stream.flatMap((names) =>
        readNames(names, async (names) => {
          const args = [maxBatchSize, ...names]
          const replies = (await runScript(client, scripts.readRecords, [keys.records], args)) as ReadonlyArray<
            string | null
          >
          const entries = replies.flatMap((encoded, index) =>
            encoded === null ? [] : [StoreEntry.Record({ record: decodeRecord(names[index] ?? "", encoded) })]
          )
          return { entries, count: replies.length }
        })
      )
    )

  const readExpiring = (keys: Keys): Batches =>
    Stream.paginate(0, (offset) =>
      Effect.map(
        read(() => client.zrange(keys.expiring, offset, String(offset + pageSize - 1))),
        (members) => [members, members.length < pageSize ? Option.none() : Option.some(offset + pageSize)]
      )
    ).pipe(
      Stream.grouped(pageSize),
      Stream.flatMap((members) =>
        readNames(members, async (members) => {
          const replies = (await runScript(client, scripts.readExpiring, members.map(keys.expiringKey), [
            maxBatchSize
          ])) as ReadonlyArray<string | number | null>
          const count = replies.length / 2
          const entries = members.slice(0, count).flatMap((member, index) => {
            const [value, expiresAt] = replies.slice(index * 2, index * 2 + 2)
            return typeof value === "string" ? [toExpiringEntry(member, value, Number(expiresAt))] : []
          })
          return { entries, count }
        })
      )
    )

  const readSequence = (keys: Keys) =>
    Effect.map(
      read(() => client.get(keys.sequence)),
      (value): Batch => (value === null ? [] : [StoreEntry.Sequence({ value: Number(value) })])
    )

  return StoreContents.make({
    partitions: Stream.suspend(() => Stream.fromIterable(listMasters(connection))).pipe(
      Stream.flatMap((node) =>
        Stream.paginate("0", (cursor) =>
          Effect.map(
            retryTransient("partitions", () => scan(node, cursor, makePartitionPattern(prefix))),
            ([next, keys]) => [
              keys.flatMap((key) => parsePartition(prefix, key) ?? []),
              next === "0" ? Option.none() : Option.some(next)
            ]
          )
        )
      )
    ),
    read: (partition) => {
      const keys = makePartitionKeys(prefix, partition)
      return Stream.fromEffect(readSequence(keys)).pipe(
        Stream.filter((batch) => batch.length > 0),
        Stream.concat(readRecords(keys)),
        Stream.concat(readExpiring(keys))
      )
    },
    write: (partition, entries) => {
      const { records, expiring } = encodeEntries(makePartitionKeys(prefix, partition), entries)
      return retryTransient("write", async () => {
        if (records !== undefined) await write(scripts.writeRecords, records.keys, records.arguments)
        if (expiring !== undefined) await write(scripts.writeExpiring, expiring.keys, expiring.arguments)
      })
    }
  })
}
