/**
 * Counts a batch of events, each once: the commit that counts an event also remembers it, in a counter with a maximum of 1.
 * The events of a customer are counted together, and those of other customers at the same time. If anything fails half way, the
 * batch is sent again, and what was counted is found again.
 */
import { hash } from "node:crypto"
import {
  Change,
  type CommitResult,
  forEachInPieces,
  type HotPath,
  type InvalidInput,
  makeKeyedLocks,
  nextTurn,
  Partition,
  retryOnConflict,
  runInFiber,
  Store,
  StoreConflict,
  type StoreError,
  type StoreOperations,
  type TrustedClock
} from "@tollgate/store/internal"
import { DateTime, Effect, Exit, Option } from "effect"
import type { DueWork } from "../../jobs/DueWork.ts"
import { readSettledCustomer } from "../credits/settleCredit.ts"
import { toHour } from "../model/clockSteps.ts"
import { findUsable } from "../model/customerEntitlements.ts"
import type { MissingFeature } from "../model/FeatureError.ts"
import type { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import type { Amounts } from "../model/Quota.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../model/QuotaError.ts"
import { SubscriptionNotFound } from "../model/SubscriptionError.ts"
import { decodeEvent, maxEventAgeMs, maxEventAheadMs, type RecordedEvents, rememberedMs } from "../model/UsageEvent.ts"
import type { ConsumeResult } from "./ConsumeResult.ts"
import type { CountReceipt } from "./CountReceipt.ts"
import type { CountRequest } from "./CountRequest.ts"
import { makeCommitTogether } from "./commitTogether.ts"
import type { CommitCount, CountError, makeCountUsage } from "./countUsage.ts"
import { makeRecordLateUse, type Use } from "./recordLateUse.ts"
import { type SubscriptionRefusal, toRecordingError } from "./SubscriptionRefusal.ts"

/** Maximum events in one commit. */
const maxTogether = 200
/** How many customers are counted at the same time. */
const lanes = 64

interface Services {
  readonly store: StoreOperations
  readonly trustedClock: TrustedClock["Service"]
  readonly dueWork: DueWork["Service"]
  readonly countForCustomer: <E extends { readonly _tag: string }>(
    accountName: string,
    bucketId: string,
    customerKey: string,
    request: CountRequest,
    hotPath: HotPath,
    commitOnce: CommitCount<E>
  ) => Effect.Effect<ConsumeResult | SubscriptionRefusal, CountError | MeteringBucketNotFound | MissingFeature | E>
  readonly reportSettled: ReturnType<typeof makeCountUsage>["reportSettled"]
}

/** An event that can be counted. */
interface Candidate extends Use {
  readonly index: number
  /** Marks it as counted. The name is stored, so it cannot change. */
  readonly marker: string
  readonly customerKey: string
}

/** Events of one customer with the same meters, to count at once. */
interface Together {
  readonly customerKey: string
  readonly events: ReadonlyArray<Candidate>
  readonly amounts: Amounts
  /** Whether the hour of one of them is over, or its period. */
  readonly isLate: boolean
}

interface Rejection {
  readonly code: string
  readonly detail: string
}

const toRejection = (code: string, detail = ""): Rejection => ({ code, detail })

type Outcome = "accepted" | "duplicate" | Rejection

/** One of the events has been counted by another request since its marker was read. */
class EventCounted {
  readonly _tag = "EventCounted"
}

/** The hour or the period of one of the events is over. */
class EventsLate {
  readonly _tag = "EventsLate"
}

const isRejection = (
  error: unknown
): error is UnknownMeter | SubscriptionNotActive | SubscriptionNotFound | QuotaExceeded =>
  error instanceof UnknownMeter ||
  error instanceof SubscriptionNotActive ||
  error instanceof SubscriptionNotFound ||
  error instanceof QuotaExceeded

const markerPrefix = "event:"

const toMarker = (source: string, id: string): string =>
  markerPrefix + hash("sha256", JSON.stringify([source, id]), "base64url")

const describe = ({ errors: [first], detail = "" }: InvalidInput): string =>
  first?.pointer === "" ? `The event: ${first.detail}` : detail

/** An event to count, or why it is rejected. `now` is in epoch milliseconds. */
const parseEvent = (input: unknown, index: number, now: number): Candidate | Rejection => {
  const decoded = decodeEvent(input)
  if (Exit.isFailure(decoded)) {
    const error = Option.getOrThrow(Exit.findErrorOption(decoded))
    return toRejection(error.code, describe(error))
  }
  const { source, id, subject, time, data } = decoded.value
  const at = DateTime.toEpochMillis(time)
  if (at < now - maxEventAgeMs) return toRejection("event-too-old", "/time: is more than 72 hours ago")
  if (at > now + maxEventAheadMs) return toRejection("event-in-future", "/time: is more than 10 minutes ahead")
  // What is ahead is by a clock that is: it was used now.
  return {
    index,
    marker: toMarker(source, id),
    customerKey: subject,
    at: Math.min(at, now),
    amounts: data.meters
  }
}

/** Divides the events of a customer into those that are counted at once: with the same meters, and not too many. */
const groupEvents = (events: ReadonlyArray<Candidate>, hour: number): ReadonlyArray<Together> => {
  const groups = Map.groupBy(events, ({ amounts, at }) =>
    JSON.stringify([toHour(at) < hour, ...Object.keys(amounts).sort()])
  )
  return [...groups.values()].flatMap((group) => {
    const together: Array<{ events: Array<Candidate>; amounts: Record<string, number> }> = []
    for (const event of group) {
      const entries = Object.entries(event.amounts)
      const last = together.at(-1)
      const hasRoom =
        last !== undefined &&
        last.events.length < maxTogether &&
        entries.every(([meter, amount]) => (last.amounts[meter] ?? 0) + amount <= Number.MAX_SAFE_INTEGER)
      const target = hasRoom ? last : { events: [], amounts: {} }
      if (!hasRoom) together.push(target)
      target.events.push(event)
      for (const [meter, amount] of entries) target.amounts[meter] = (target.amounts[meter] ?? 0) + amount
    }
    const [{ customerKey, at }] = group as [Candidate]
    return together.map((part) => ({ customerKey, isLate: toHour(at) < hour, ...part }))
  })
}

/** Whether the events are counted in their own periods if they are counted now. */
const areInPeriods = ({ events, amounts }: Together, { periodStart, periods = {} }: CountReceipt): boolean => {
  const first = Math.min(...events.map(({ at }) => at))
  return Object.keys(amounts).every((meter) => {
    const { start } = (Object.hasOwn(periods, meter) ? periods[meter] : undefined) ?? { start: periodStart }
    return start.epochMilliseconds <= first
  })
}

export const makeRecordEvents = ({ store, trustedClock, dueWork, countForCustomer, reportSettled }: Services) => {
  const recordLateUse = makeRecordLateUse(store, dueWork)
  const withLock = makeKeyedLocks()
  const commitTogether = makeCommitTogether(store)

  /** Commits changes that count events, and remembers the events. */
  const commitEvents = (
    partition: Partition.Partition,
    events: ReadonlyArray<Candidate>,
    changes: ReadonlyArray<Change>
  ): Effect.Effect<CommitResult, StoreError | EventCounted> => {
    const markers = events.map(({ marker }) => Change.Add({ counter: marker, by: 1, max: 1, ttl: rememberedMs }))
    return Effect.mapError(commitTogether(partition, [...changes, ...markers]), (error) =>
      error instanceof StoreConflict && error.subject.startsWith(markerPrefix) ? new EventCounted() : error
    )
  }

  /** Counts events of the present hour, as `record` does. */
  const countNow = (accountName: string, bucketId: string, together: Together) => {
    const { customerKey, events, amounts } = together
    const commitOnce: CommitCount<EventCounted | EventsLate> = (changes, receipt) =>
      Effect.flatMap(
        trustedClock.now,
        (now): Effect.Effect<CommitResult, StoreError | EventCounted | EventsLate> =>
          events.every(({ at }) => toHour(at) === toHour(now.epochMilliseconds)) && areInPeriods(together, receipt)
            ? commitEvents(Partition.forMeteringBucket(bucketId), events, changes)
            : Effect.fail(new EventsLate())
      )
    const request = { amounts, rateLimitTakes: [], kind: "record" } as const
    return runInFiber(store, (hotPath) =>
      countForCustomer(accountName, bucketId, customerKey, request, hotPath, commitOnce)
    ).pipe(
      Effect.catchTags({ RateLimited: Effect.die, ReservationLimit: Effect.die, MissingFeature: Effect.die }),
      Effect.flatMap((result) =>
        typeof result === "string" ? Effect.fail(toRecordingError(result, customerKey)) : Effect.void
      )
    )
  }

  /** Counts events in the hours in which they occurred. */
  const countLate = (accountName: string, bucketId: string, { customerKey, events, amounts }: Together) => {
    const attempt = Effect.gen(function* () {
      const now = yield* trustedClock.now
      const customer = yield* readSettledCustomer(accountName, bucketId, customerKey, now)
      const entitlement = findUsable(customer, amounts, now)
      if (entitlement === undefined) {
        const refusal = customer.total === 0 ? "no-subscription" : "subscription-not-active"
        return yield* toRecordingError(refusal, customerKey)
      }
      const { limits, quotas } = yield* recordLateUse(bucketId, entitlement, events, now, (changes) =>
        commitEvents(Partition.forMeteringBucket(bucketId), events, changes)
      )
      yield* reportSettled(bucketId, entitlement, limits, quotas)
    })
    // One at a time: each rewrites the ledger, so all others would conflict.
    return withLock(`${bucketId} ${customerKey}`, retryOnConflict(attempt)).pipe(
      Effect.provideService(Store, store),
      Effect.catch((error) => {
        const isFull = error instanceof StoreConflict && error.reason === "counter-exceeded"
        const [meter = ""] = Object.keys(amounts)
        return Effect.fail(isFull ? new QuotaExceeded({ meter, max: Number.MAX_SAFE_INTEGER }) : error)
      })
    )
  }

  const findRemembered = (bucketId: string, events: ReadonlyArray<Candidate>) =>
    Effect.map(
      store.counters(
        Partition.forMeteringBucket(bucketId),
        events.map(({ marker }) => marker)
      ),
      (values) => new Set(events.filter((_, index) => (values[index] ?? 0) > 0))
    )

  return Effect.fnUntraced(function* (accountName: string, bucketId: string, inputs: ReadonlyArray<unknown>) {
    const now = (yield* trustedClock.now).epochMilliseconds
    const outcomes: Array<Outcome> = []

    /** Counts events, and notes what became of each. */
    const count = (together: Together): Effect.Effect<void, StoreError | MeteringBucketNotFound> => {
      const { events, isLate } = together
      const note = (outcome: Outcome) => {
        for (const { index } of events) outcomes[index] = outcome
      }
      const counting = isLate ? countLate(accountName, bucketId, together) : countNow(accountName, bucketId, together)
      return Effect.matchEffect(counting, {
        onSuccess: () => Effect.sync(() => note("accepted")),
        onFailure: (error) => {
          if (error._tag === "EventsLate") return count({ ...together, isLate: true })
          if (error._tag === "EventCounted") return countRest(events)
          if (!isRejection(error)) return Effect.fail(error)
          // The sum is too large: one of them may not be.
          if (error._tag === "QuotaExceeded" && events.length > 1) {
            return Effect.forEach(events, (event) => count({ ...together, events: [event], amounts: event.amounts }), {
              discard: true
            })
          }
          return Effect.sync(() => note(toRejection(error.code, error.detail)))
        }
      })
    }

    /** Counts the events that are not remembered. */
    const countRest = Effect.fnUntraced(function* (events: ReadonlyArray<Candidate>) {
      yield* nextTurn
      const remembered = yield* findRemembered(bucketId, events)
      for (const { index } of remembered) outcomes[index] = "duplicate"
      const rest = events.filter((event) => !remembered.has(event))
      const byLane = Map.groupBy(
        Map.groupBy(rest, ({ customerKey }) => customerKey).values(),
        (_, index) => index % lanes
      )
      // What one customer used is counted in the order of the events.
      const countLane = (customers: ReadonlyArray<ReadonlyArray<Candidate>>) =>
        Effect.andThen(
          nextTurn,
          forEachInPieces(
            customers.flatMap((ofCustomer) => groupEvents(ofCustomer, toHour(now))),
            count
          )
        )
      yield* Effect.forEach(byLane.values(), countLane, { concurrency: "unbounded", discard: true })
    })

    // The batch has just been parsed, which takes its time of a turn.
    yield* nextTurn
    const parsed = yield* forEachInPieces(inputs, (input, index) => Effect.sync(() => parseEvent(input, index, now)))
    let waiting: ReadonlyArray<Candidate> = parsed.flatMap((event, index) => {
      if ("marker" in event) return [event]
      outcomes[index] = event
      return []
    })
    // The first of equal events is counted. If it is rejected, the next is tried.
    while (waiting.length > 0) {
      const firsts = new Map<string, Candidate>()
      for (const event of waiting) if (!firsts.has(event.marker)) firsts.set(event.marker, event)
      yield* countRest([...firsts.values()])
      waiting = waiting.filter((event) => {
        const first = firsts.get(event.marker)
        if (first === undefined || first === event) return false
        if (typeof outcomes[first.index] === "string") outcomes[event.index] = "duplicate"
        return outcomes[event.index] === undefined
      })
    }

    return {
      accepted: outcomes.filter((outcome) => outcome === "accepted").length,
      duplicates: outcomes.filter((outcome) => outcome === "duplicate").length,
      rejected: outcomes.flatMap((outcome, index) => (typeof outcome === "string" ? [] : [{ index, ...outcome }]))
    } satisfies RecordedEvents
  })
}
