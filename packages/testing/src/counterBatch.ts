import { Change, type Partition, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"

const add = (counter: string, by: number) => Change.Add({ counter, by, ttl: 60_000 })

/**
 * Commits at once, so that a store sends one batch, what brings counters to 0. Afterwards `restarted` is 3 and `raised` is 0,
 * both kept for a minute; `removed` and `lowered` do not exist.
 */
export const bringCountersToZero = Effect.fnUntraced(function* (
  store: StoreOperations,
  partition: Partition.Partition
) {
  const names = ["removed", "restarted", "raised", "lowered"]
  yield* store.commit(
    partition,
    names.map((counter) => Change.Add({ counter, by: 2, ttl: 86_400_000 }))
  )
  yield* Effect.all(
    [
      ...names.slice(0, 3).map((counter) => store.commit(partition, [add(counter, -2)])),
      store.commit(partition, [add("restarted", 3)]),
      store.commit(partition, [Change.Raise({ counter: "raised", to: 0, ttl: 60_000 })]),
      store.commit(partition, [add("lowered", 5)]),
      store.commit(partition, [add("lowered", -7)])
    ],
    { concurrency: "unbounded" }
  )
})
