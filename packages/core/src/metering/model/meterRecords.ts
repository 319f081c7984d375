/**
 * The names of all meters that the plans of a metering bucket ever had, so that the usage of the whole bucket can be read.
 */

import { Collection, type Partition } from "@tollgate/store/internal"
import { Effect, Option, Schema } from "effect"
import { limitReached } from "../../accounts/limits/LimitReached.ts"

const key = "all"

export const meterRecords = Collection.make({
  name: "meters",
  countsBytes: false,
  format: 1,
  schema: Schema.Struct({ names: Schema.Array(Schema.String) }),
  key: () => key
})

export const meterRecordKey = meterRecords.recordKey(key)

export const readMeters = (partition: Partition.Partition) => meterRecords.get(partition, key)

type Meters = Effect.Success<ReturnType<typeof readMeters>>

export const getNames = (meters: Meters): ReadonlyArray<string> =>
  Option.isSome(meters) ? meters.value.value.names : []

/** A change that adds names to the meters of a bucket; none if it has them already. */
export const addNames = (meters: Meters, names: ReadonlyArray<string>) => {
  const known = new Set(getNames(meters))
  const missing = names.filter((name) => !known.has(name))
  if (missing.length === 0) return []
  const value = { names: [...known, ...missing].sort() }
  return [Option.isSome(meters) ? meterRecords.replace(meters.value, value) : meterRecords.insert(value)]
}

/** A change that adds the meters of a plan. Fails if the bucket would have more than `max`. */
export const registerMeters = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  names: ReadonlyArray<string>,
  max: number
) {
  const meters = yield* readMeters(partition)
  const changes = addNames(meters, names)
  if (changes.length > 0 && new Set([...getNames(meters), ...names]).size > max) {
    return yield* limitReached("metersPerMeteringBucket", max)
  }
  return changes
})
