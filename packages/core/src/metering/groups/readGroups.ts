/**
 * Reads what was used by key or label on days.
 */
import { forEachInPieces, Store } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { GroupBy, UsageGroup } from "../model/UsageGroup.ts"
import { getGroupsKey, getGroupsPartition, groupRecords, keyGroup } from "./groupRecords.ts"

/** Few, because each record may have hundreds of values. */
const batchSize = 20

/** The groups of a day. */
export interface GroupsOfDay {
  readonly groups: ReadonlyArray<UsageGroup>
  /** Of values beyond those that are kept apart. */
  readonly other: UsageGroup["meters"]
}

const noGroups: GroupsOfDay = { groups: [], other: {} }

const toGroup = (groupBy: GroupBy, value: string): Omit<UsageGroup, "meters"> => {
  if (groupBy !== keyGroup) return { value }
  const [keyBucketName = "", keyId = ""] = value.split(" ")
  return { keyId, keyBucketName }
}

/** The groups of a subscription, or of the whole bucket, on each of these days. With `meter`, only those that used it. */
export const readGroups = Effect.fnUntraced(function* (
  bucketId: string,
  usageId: string,
  groupBy: GroupBy,
  days: ReadonlyArray<number>,
  meter: string | undefined
) {
  const store = yield* Store
  const select = (amounts: UsageGroup["meters"]): UsageGroup["meters"] =>
    meter === undefined ? amounts : Object.fromEntries(Object.entries(amounts).filter(([name]) => name === meter))
  const starts = Array.from({ length: Math.ceil(days.length / batchSize) }, (_, index) => index * batchSize)
  const found = yield* forEachInPieces(
    starts,
    Effect.fnUntraced(function* (start) {
      const keys = days.slice(start, start + batchSize).map((day) => groupRecords.recordKey(getGroupsKey(usageId, day)))
      const records = yield* store.get(getGroupsPartition(bucketId), keys)
      return yield* forEachInPieces(
        records,
        Effect.fnUntraced(function* (record) {
          if (record === undefined) return noGroups
          const { groups } = (yield* groupRecords.decode(record)).value
          const group = Object.hasOwn(groups, groupBy) ? groups[groupBy] : undefined
          if (group === undefined) return noGroups
          return {
            groups: group.values
              .map(([value, amounts]) => ({ ...toGroup(groupBy, value), meters: select(amounts) }))
              .filter(({ meters }) => Object.keys(meters).length > 0),
            other: select(group.other)
          } satisfies GroupsOfDay
        })
      )
    })
  )
  return found.flat()
})
