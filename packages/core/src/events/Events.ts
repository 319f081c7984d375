/**
 * The event log of an account.
 */

import {
  BoundedMap,
  type EntryPage,
  invalidParameter,
  type PageRequest,
  Partition,
  Store,
  type StoreError,
  toPage
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { countEventsBefore } from "../outbox/countEventsBefore.ts"
import { dropOldEvents } from "../outbox/dropOldEvents.ts"
import type { Event, EventId } from "../outbox/Event.ts"
import { EventRetention } from "../outbox/EventRetention.ts"
import { byConsumer, byCustomer, byGroup, bySubject, byType, eventRecords } from "../outbox/eventRecords.ts"
import { coreEvents } from "./coreEvents.ts"
import { type EventListOptions, type EventsApi, type EventsMethods, makeEventsApi } from "./EventsApi.ts"

/** How often a process drops old events of an account when its log is read. Writing to a log also drops them. */
const dropIntervalMs = 60_000
/** How often a page is read because events arrived or were dropped meanwhile. What arrives once more makes it shorter. */
const maxAttempts = 10

type Filter = Pick<EventListOptions, "type" | "subject" | "keyBucketName" | "consumerName" | "customerKey">

const toTerms = ({ type, subject, keyBucketName, consumerName, customerKey }: Filter): ReadonlyArray<string> => [
  ...(type === undefined ? [] : [type.endsWith(".*") ? byGroup(type.slice(0, -2)) : byType(type)]),
  ...(subject === undefined ? [] : [bySubject(subject)]),
  ...(keyBucketName === undefined || consumerName === undefined ? [] : [byConsumer(keyBucketName, consumerName)]),
  ...(customerKey === undefined ? [] : [byCustomer(customerKey)])
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
      const total = yield* countEventsBefore(partition, where, version)
      const oldestQuery = { where, offset: 0, limit: 1 }
      const atFirst = yield* eventRecords.page(partition, oldestQuery)
      // The newest events, which come first, are skipped. A page after another begins after them.
      const skipsNewest = descending && after === undefined
      const skipped = skipsNewest ? atFirst.total - total : 0
      const [page = { entries: [], total }, atLast = atFirst] = yield* eventRecords.pages(partition, [
        { where, limit, offset: skipped + offset, after, descending, mayEndEarly: true },
        oldestQuery
      ])
      const earlier = page.entries.filter((entry) => entry.version < version)
      // If events were dropped or arrived meanwhile, the page began at another place.
      const isMoved =
        atFirst.entries[0]?.version !== atLast.entries[0]?.version || (skipsNewest && atFirst.total !== atLast.total)
      if (isMoved && attempt < maxAttempts) continue
      const isAtEnd = !descending && (earlier.length < page.entries.length || offset + page.entries.length >= total)
      return page.next === undefined || isAtEnd
        ? { entries: earlier, total }
        : { entries: earlier, total, next: page.next }
    }
  })

  /** One page of the events after the given one, oldest first. Its last event is where the next page begins. */
  const readAfter = Effect.fnUntraced(function* (
    partition: Partition.Partition,
    where: ReadonlyArray<string>,
    after: EventId,
    { limit, offset }: PageRequest
  ) {
    for (;;) {
      const reference = yield* eventRecords.get(partition, after)
      if (Option.isNone(reference)) {
        return yield* invalidParameter(
          "after",
          "is not in the log any more. Leave it out to begin with the oldest event"
        )
      }
      const { version } = reference.value
      const earlier = yield* countEventsBefore(partition, where, version + 1)
      const [last, page] = yield* eventRecords.pages(partition, [
        { where, offset: Math.max(0, earlier - 1), limit: 1 },
        { where, offset: earlier + offset, limit, mayEndEarly: true }
      ])
      // Otherwise old events were dropped meanwhile, and the page skips some.
      const isAtPlace = earlier === 0 || (last?.entries[0]?.version ?? Number.POSITIVE_INFINITY) <= version
      if (!isAtPlace || page === undefined) continue
      const next = page.next === undefined ? undefined : page.entries.at(-1)?.value.id
      return { entries: page.entries, total: page.total - earlier, next }
    }
  })

  return Events.of(
    implementOperations(makeEventsApi(Object.keys(coreEvents)), { store })({
      list: Effect.fnUntraced(function* ({
        params: { accountName },
        query: { limit, offset, after, order = typeof after === "string" ? "asc" : "desc", before, ...filter }
      }) {
        if ((filter.consumerName === undefined) !== (filter.keyBucketName === undefined))
          return yield* invalidParameter(
            filter.consumerName === undefined ? "consumerName" : "keyBucketName",
            "is missing: a consumer is named by both, consumerName and keyBucketName"
          )
        yield* dropOccasionally(accountName)
        const partition = Partition.forEvents(accountName)
        const where = toTerms(filter)
        if (typeof after === "string") {
          if (order === "desc" || before !== undefined)
            return yield* invalidParameter(
              "after",
              "with the id of an event, cannot be combined with order=desc or before"
            )
          const { entries, ...page } = yield* readAfter(partition, where, after, { limit, offset })
          return toPage(
            { limit, offset },
            page,
            entries.map(({ value }) => value)
          )
        }
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
export class Events extends Context.Service<Events, Operations<EventsApi, EventsMethods>>()(
  "@tollgate/core/events/Events"
) {
  static readonly layer = Layer.effect(Events, make)
}
