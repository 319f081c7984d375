/**
 * The event log of an account.
 */
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { countEventsBefore } from "../outbox/countEventsBefore.ts"
import { dropOldEvents } from "../outbox/dropOldEvents.ts"
import type { Event } from "../outbox/Event.ts"
import { EventRetention } from "../outbox/EventRetention.ts"
import { byGroup, bySubject, byType, eventRecords } from "../outbox/eventRecords.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { type PageRequest, toPage } from "../schema/Page.ts"
import type { EntryPage } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"
import { EventsApi, type EventsMethods } from "./EventsApi.ts"

/** How often a process drops old events of an account when its log is read. Writing to a log also drops them. */
const dropIntervalMs = 60_000
/** How often a page is read again because events were dropped meanwhile. */
const maxAttempts = 3

const toTerms = (type: string | undefined, subject: string | undefined): ReadonlyArray<string> => [
  ...(type === undefined ? [] : [type.endsWith(".*") ? byGroup(type.slice(0, -2)) : byType(type)]),
  ...(subject === undefined ? [] : [bySubject(subject)])
]

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
    { limit, offset, after }: PageRequest,
    descending: boolean
  ): Effect.fn.Return<EntryPage<Event>, StoreError, Store> {
    for (let attempt = 1; ; attempt++) {
      const reference = yield* eventRecords.get(partition, before)
      if (Option.isNone(reference)) return { entries: [], total: 0 }
      const { version } = reference.value
      const oldestQuery = { where, offset: 0, limit: 1 }
      const {
        entries: [oldest],
        total: all
      } = yield* eventRecords.page(partition, oldestQuery)
      const total = yield* countEventsBefore(partition, where, version)
      // The newest events, which come first, are skipped. A page after another begins after them.
      const skipped = descending && after === undefined ? all - total : 0
      const [page = { entries: [], total }, oldestPage] = yield* eventRecords.pages(partition, [
        { where, limit, offset: skipped + offset, after, descending, mayEndEarly: true },
        oldestQuery
      ])
      // If old events were dropped meanwhile, they were counted wrongly.
      if (oldestPage?.entries[0]?.version !== oldest?.version && attempt < maxAttempts) continue
      const earlier = page.entries.filter((entry) => entry.version < version)
      const isAtEnd = !descending && (earlier.length < page.entries.length || offset + page.entries.length >= total)
      return page.next === undefined || isAtEnd
        ? { entries: earlier, total }
        : { entries: earlier, total, next: page.next }
    }
  })

  return Events.of(
    implementOperations(EventsApi, { store })({
      list: Effect.fnUntraced(function* ({
        params: { accountName },
        query: { limit, offset, after, order = "desc", before, type, subject }
      }) {
        yield* dropOccasionally(accountName)
        const partition = Partition.forEvents(accountName)
        const where = toTerms(type, subject)
        const descending = order === "desc"
        const request = { limit, offset, after }
        const { entries, ...page } =
          before === undefined
            ? yield* eventRecords.page(partition, { where, descending, ...request, mayEndEarly: true })
            : yield* readBefore(partition, where, before, request, descending)
        return toPage(
          request,
          page,
          entries.map(({ value }) => value)
        )
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
