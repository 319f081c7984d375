/**
 * Look-ups by name. Those of several callers, also in different partitions, share one call of a function.
 */

import type { Partition, StoreOperations, StoreRecord, StoreUnavailable } from "@tollgate/store"
import { BatchQueue, type RetryTransient, type StoreActivity } from "@tollgate/store/internal"
import { toTextArray } from "./arrayLiteral.ts"
import type { Database, Row } from "./Database.ts"
import { toIndexName } from "./indexName.ts"
import { makeExpiry } from "./makeExpiry.ts"
import { decodeRecord } from "./recordCodec.ts"

const maxBatchSize = 200

/** Leaves connections for commits and lists. While this many are running, the next batch grows. */
const maxRunningBatches = 4

/** One lane for all partitions. */
const lane = "look-ups"

interface Lookup {
  readonly partition: Partition.Partition
  readonly names: ReadonlyArray<string>
}

/** Decodes the columns version, header and body, which are null if there is no record. */
export const decodeRow = ([version, header, body]: Row): StoreRecord | undefined =>
  version == null || header == null || body == null ? undefined : decodeRecord(version, header, body)

export const makeLookups = (
  database: Database,
  schema: string,
  retryTransient: RetryTransient,
  activity: StoreActivity
): Pick<StoreOperations, "get" | "getByUniqueKey" | "counters"> => {
  /** The rows of the function begin with the position of the name that they are about. */
  const makeLookup = <A>(
    operation: StoreUnavailable["operation"],
    sqlFunction: string,
    decode: (columns: Row | undefined) => A
  ) => {
    const sql = `SELECT * FROM ${schema}.${sqlFunction}($1, $2)`
    const queue = new BatchQueue<typeof lane, Lookup, ReadonlyArray<A>, StoreUnavailable>(
      (_, lookups) =>
        retryTransient(operation, async () => {
          const partitions = lookups.flatMap(({ partition, names }) => names.map(() => toIndexName(partition)))
          const names = lookups.flatMap(({ names }) => names.map(toIndexName))
          const rows = await database.query(sql, [toTextArray(partitions), toTextArray(names)])
          const found = new Map(rows.map(([position, ...columns]) => [Number(position), columns]))
          let position = 0
          return lookups.map(({ names }) => names.map(() => decode(found.get(++position))))
        }),
      {
        activity,
        maxBatchWeight: maxBatchSize,
        maxRunningBatches,
        weigh: ({ names }) => names.length,
        expiry: makeExpiry(operation, database)
      }
    )
    return (partition: Partition.Partition, names: ReadonlyArray<string>) => queue.add(lane, { partition, names })
  }

  return {
    get: makeLookup("get", "tollgate_get", (columns = []) => decodeRow(columns)),
    getByUniqueKey: makeLookup("getByUniqueKey", "tollgate_get_by_unique_key", (columns = []) => {
      const [record, parent] = [decodeRow(columns), decodeRow(columns.slice(3))]
      if (record === undefined) return undefined
      return parent === undefined ? { record } : { record, parent }
    }),
    counters: makeLookup("counters", "tollgate_get_counters", ([value] = []) => Number(value ?? 0))
  }
}
