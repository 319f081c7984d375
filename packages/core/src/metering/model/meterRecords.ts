/**
 * The names of all meters that the plans of a metering bucket ever had, so that the usage of the whole bucket can be read.
 */
import { Effect, Option, Schema } from "effect"
import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import * as Collection from "../../store/Collection.ts"
import type { Partition } from "../../store/Partition.ts"

const key = "all"

export const meterRecords = Collection.make({
  name: "meters",
  countsBytes: false,
  format: 1,
  schema: Schema.Struct({ names: Schema.Array(Schema.String) }),
  key: () => key
})

export const meterRecordKey = meterRecords.recordKey(key)

export const readMeters = (partition: Partition) => meterRecords.get(partition, key)

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
  partition: Partition,
  names: ReadonlyArray<string>,
  max: number
) {
  const meters = yield* readMeters(partition)
  const changes = addNames(meters, names)
  if (changes.length > 0 && new Set([...getNames(meters), ...names]).size > max) {
    return yield* new LimitReached({ limit: "metersPerMeteringBucket", max })
  }
  return changes
})
