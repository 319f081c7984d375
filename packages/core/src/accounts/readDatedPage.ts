/**
 * Reads pages of a directory whose entries have a date of creation. Older versions of Tollgate wrote entries without
 * one: the first read of such an entry adds the date of its oldest content, or the present if it has none.
 */
import { DateTime, Effect, Option } from "effect"
import type { Collection, EntryQuery } from "../store/Collection.ts"
import type { Partition } from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"

interface PossiblyDated {
  readonly createdOn?: DateTime.Utc
}

export const makeReadDatedPage =
  <A extends PossiblyDated>(
    collection: Collection<A>,
    partition: Partition,
    /** The date of the oldest content of an entry. */
    readOldestDate: (value: A) => Effect.Effect<Option.Option<DateTime.Utc>, StoreError, Store>
  ) =>
  (query: EntryQuery) =>
    retryOnConflict(
      Effect.gen(function* () {
        const store = yield* Store
        const now = yield* DateTime.now
        const { entries, ...page } = yield* collection.page(partition, query)
        const withDate = ({ value }: (typeof entries)[number]) => {
          const { createdOn } = value
          if (createdOn !== undefined) return Effect.succeed({ ...value, createdOn })
          const oldest = readOldestDate(value)
          return Effect.map(oldest, (date) => ({ ...value, createdOn: Option.getOrElse(date, () => now) }))
        }
        const values = yield* Effect.forEach(entries, withDate, { concurrency: 8 })
        const changes = entries.flatMap((entry, index) => {
          const value = values[index]
          return entry.value.createdOn !== undefined || value === undefined ? [] : [collection.replace(entry, value)]
        })
        if (changes.length > 0) yield* store.commit(partition, changes)
        return { values, ...page }
      })
    )
