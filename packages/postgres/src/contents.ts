/**
 * Everything in the tables, in batches: each is one query.
 */

import {
  maxBatchSize,
  type Partition,
  StoreContents,
  type StoreContentsOperations,
  StoreEntry,
  type StoreUnavailable
} from "@tollgate/store"
import type { RetryTransient } from "@tollgate/store/internal"
import { Effect, Option, Stream } from "effect"
import type { Database, Row } from "./Database.ts"
import { encodeEntries } from "./encodeEntries.ts"
import { encodeName, toIndexName } from "./indexName.ts"
import { decodeRecord } from "./recordCodec.ts"
import { decodeReplay } from "./replays.ts"
import { makeContentQueries } from "./sql/contentQueries.ts"

const pageSize = 500

/** Decodes a row whose first column is the position of the next page. */
type Decode = (columns: Row) => StoreEntry

const toText = (column: string | null | undefined): string => column ?? ""

/** The name of a partition or a counter. A name that PostgreSQL cannot index is in the second column, as JSON. */
const decodeName = (name: string | null | undefined, originalName: string | null | undefined): string =>
  originalName == null ? toText(name) : JSON.parse(originalName)

const decodeRecordRow: Decode = ([, version, header, body]) =>
  StoreEntry.Record({ record: decodeRecord(toText(version), toText(header), toText(body)) })

/** The names of counters begin with the id of their partition and a colon. */
const decodeCounterRow: Decode = ([scoped, originalName, value, expires]) => {
  const name = toText(scoped)
  return StoreEntry.Counter({
    name: decodeName(name.slice(name.indexOf(":") + 1), originalName),
    value: Number(value),
    expiresAt: Number(expires)
  })
}

const decodeReplayRow: Decode = ([, content, numbers, expires]) =>
  StoreEntry.Replay({ ...decodeReplay(toText(content), toText(numbers)), expiresAt: Number(expires) })

export const makeContents = (
  database: Database,
  schema: string,
  retryTransient: RetryTransient
): StoreContentsOperations => {
  const queries = makeContentQueries(schema)
  const read = (sql: string, values: ReadonlyArray<string | number>) =>
    retryTransient("read", () => database.query(sql, values))

  /** Reads page after page. `makeSql` takes whether the page is after a position, which is then the last parameter. */
  const readPages = (
    partition: string,
    makeSql: (isAfter: boolean) => string,
    decode: Decode
  ): Stream.Stream<ReadonlyArray<StoreEntry>, StoreUnavailable> =>
    Stream.unfold<string | undefined, ReadonlyArray<StoreEntry>, StoreUnavailable, never>(undefined, (after) =>
      Effect.map(
        read(makeSql(after !== undefined), [
          partition,
          pageSize,
          maxBatchSize,
          ...(after === undefined ? [] : [after])
        ]),
        (rows) => {
          const last = rows.at(-1)
          return last === undefined ? undefined : ([rows.map(decode), toText(last[0])] as const)
        }
      )
    )

  const readPartition: StoreContentsOperations["read"] = (partition) =>
    Stream.unwrap(
      Effect.map(read(queries.partition, [toIndexName(partition)]), ([row]) => {
        if (row === undefined) return Stream.empty
        const [id, sequence] = [toText(row[0]), Number(row[1])]
        return Stream.fromIterable(sequence === 0 ? [] : [[StoreEntry.Sequence({ value: sequence })]]).pipe(
          Stream.concat(readPages(id, queries.records, decodeRecordRow)),
          Stream.concat(readPages(id, queries.counters, decodeCounterRow)),
          Stream.concat(readPages(id, queries.replays, decodeReplayRow))
        )
      })
    )

  const write: StoreContentsOperations["write"] = (partition, entries) => {
    const { sequence, records, counters, replays } = encodeEntries(entries)
    const { indexName, originalName } = encodeName(partition)
    return retryTransient("write", async () => {
      const [row] = await database.query(queries.raiseSequence, [indexName, originalName, sequence])
      const id = toText(row?.[0])
      if (records.length > 0) await database.query(queries.writeRecords, [id, JSON.stringify(records)])
      if (counters.length > 0) await database.query(queries.writeCounters, [id, JSON.stringify(counters)])
      if (replays.length > 0) await database.query(queries.writeReplays, [id, JSON.stringify(replays)])
    })
  }

  return StoreContents.make({
    partitions: Stream.paginate("0", (after) =>
      Effect.map(
        retryTransient("partitions", () => database.query(queries.partitions, [after, pageSize])),
        (rows) => [
          // Only this package writes the names.
          rows.map(([, name, originalName]) => decodeName(name, originalName) as Partition.Partition),
          Option.map(Option.fromUndefinedOr(rows.at(-1)), ([id]) => toText(id))
        ]
      )
    ),
    read: readPartition,
    write
  })
}
