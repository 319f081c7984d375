/**
 * The event log of an account.
 */
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { countEventsBefore } from "../outbox/countEventsBefore.ts"
import { dropOldEvents } from "../outbox/dropOldEvents.ts"
import { EventRetention } from "../outbox/EventRetention.ts"
import { byGroup, bySubject, byType, eventRecords } from "../outbox/eventRecords.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import type { PageRequest } from "../schema/Page.ts"
import type { EntryQuery } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { EventsApi, type EventsMethods } from "./EventsApi.ts"

/** How often a process drops old events of an account when its log is read. Writing to a log also drops them. */
const dropIntervalMs = 60_000
/** How often a page is read again because events were dropped meanwhile. */
const maxAttempts = 3

const toTerms = (type: string | undefined, subject: string | undefined): ReadonlyArray<string> => [
  ...(type === undefined ? [] : [type.endsWith(".*") ? byGroup(type.slice(0, -2)) : byType(type)]),
  ...(subject === undefined ? [] : [bySubject(subject)])
]

/** The range of a page in the list of the `count` oldest events. */
const toRange = (count: number, { limit, offset }: PageRequest, descending: boolean): PageRequest => {
  const end = descending ? Math.max(0, count - offset) : Math.min(count, offset + limit)
  const start = descending ? Math.max(0, end - limit) : Math.min(offset, end)
  return { offset: start, limit: end - start }
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const withRetention = Effect.provideService(EventRetention, yield* EventRetention)
  const droppedAt = new BoundedMap<string, number>(10_000)

  const dropOccasionally = Effect.fnUntraced(function* (accountName: string) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    if (Math.abs(now - (droppedAt.get(accountName) ?? Number.NEGATIVE_INFINITY)) < dropIntervalMs) return
    yield* dropOldEvents(accountName).pipe(
      withRetention,
      // Other processes are dropping them.
      Effect.catchTag("StoreConflict", () => Effect.void)
    )
    droppedAt.set(accountName, now)
  })

  /** One page of the events before the given one. If that is no longer in the log, none before it is. */
  const readBefore = Effect.fnUntraced(function* (
    partition: Partition.Partition,
    where: ReadonlyArray<string>,
    before: string,
    range: PageRequest,
    descending: boolean
  ) {
    for (let attempt = 1; ; attempt++) {
      const reference = yield* eventRecords.get(partition, before)
      if (Option.isNone(reference)) return { entries: [], total: 0 }
      const { version } = reference.value
      const oldestQuery = { where, offset: 0, limit: 1 }
      const {
        entries: [oldest]
      } = yield* eventRecords.page(partition, oldestQuery)
      const total = yield* countEventsBefore(partition, where, version)
      const [page, oldestPage] = yield* eventRecords.pages(partition, [
        { where, ...toRange(total, range, descending) },
        oldestQuery
      ])
      // If old events were dropped meanwhile, the others have moved up, and this is another page.
      if (oldestPage?.entries[0]?.version !== oldest?.version && attempt < maxAttempts) continue
      const earlier = (page?.entries ?? []).filter((entry) => entry.version < version)
      return { entries: descending ? earlier.reverse() : earlier, total }
    }
  })

  return Events.of(
    implementOperations(EventsApi, store, {
      list: Effect.fnUntraced(function* ({
        params: { accountName },
        query: { limit, offset, order = "desc", before, type, subject }
      }) {
        yield* dropOccasionally(accountName)
        const partition = Partition.forEvents(accountName)
        const where = toTerms(type, subject)
        const descending = order === "desc"
        const query: EntryQuery = { where, limit, offset, descending }
        const { entries, total } =
          before === undefined
            ? yield* eventRecords.page(partition, query)
            : yield* readBefore(partition, where, before, { limit, offset }, descending)
        return { data: entries.map(({ value }) => value), limit, offset, total }
      })
    })
  )
})

/** The operation on the event log, `list`, which takes one `OperationRequest`. */
export class Events extends Context.Service<Events, Operations<typeof EventsApi, EventsMethods>>()(
  "@tollgate/core/events/Events"
) {
  static readonly layer = Layer.effect(Events, make)
}
