/**
 * Notes decisions of this process, writes the notes in the background, and reads what all processes have written.
 */
import {
  asSystem,
  DecisionObservers,
  DueWork,
  dayMs,
  days,
  findConsumer,
  forEachInPieces,
  hourMs,
  hours,
  implementOperations,
  invalidParameter,
  type KeyBucket,
  KeyBuckets,
  makeWriteBehind,
  type Operations,
  type PageRequest,
  type Partition,
  readCounters,
  removeDue,
  resolveRange,
  retryOnConflict,
  SecretBox,
  Store,
  toPage
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Layer } from "effect"
import { DecisionLogApi, type DecisionLogMethods } from "./DecisionLogApi.ts"
import { DecisionNotes } from "./DecisionNotes.ts"
import { getConsumerCounter, getDayCounter, getHourCounter, outcomes } from "./outcomeCounters.ts"
import type { Refusal, StoredRefusal } from "./Refusal.ts"
import { RefusalBudget } from "./RefusalBudget.ts"
import {
  byConsumer,
  byKey,
  byReason,
  byRequest,
  findRemoval,
  getStatsPartition,
  keptDays,
  refusalRecords,
  removals,
  withoutConsumer
} from "./refusalRecords.ts"
import { writeNotes } from "./writeNotes.ts"

const cleanJob = { name: "decisions" }
const writeDelay = "5 seconds"
/** How many buckets a process notes decisions of between two writes. */
const maxBuckets = 20_000

const byHour = { step: "hour", division: hours, length: hourMs, getCounter: getHourCounter } as const
const byDay = { step: "day", division: days, length: dayMs, getCounter: getDayCounter } as const

const toRefusal = ({ id: _, consumerId: __, peer: ___, ...refusal }: StoredRefusal): Refusal => refusal

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const dueWork = yield* DueWork
  const observers = yield* DecisionObservers
  const withStore = Effect.provideService(Store, store)
  const buckets = yield* KeyBuckets
  const budget = new RefusalBudget()

  yield* dueWork.register({
    ...cleanJob,
    run: (partition) =>
      withStore(asSystem(retryOnConflict(removeDue(refusalRecords, removals, findRemoval, partition))))
  })

  const notes = yield* makeWriteBehind<DecisionNotes>({
    delay: writeDelay,
    warning: "Cannot write why requests were refused",
    isEmpty: ({ isEmpty }) => isEmpty,
    write: Effect.fnUntraced(function* (partition, notes) {
      // Nothing is kept of buckets that a caller has made up.
      if (!(yield* buckets.isListed(notes.bucket))) return void notes.take()
      const due = DateTime.add(yield* DateTime.now, { days: keptDays })
      yield* dueWork.ensure(cleanJob, partition, Effect.succeed(notes.bucket.accountName), due)
      yield* writeNotes(partition, notes)
    }, withStore)
  })

  /** Making the name of a partition takes as long as noting a decision. */
  const partitions = new WeakMap<KeyBucket, Partition.Partition>()

  yield* observers.register((decision) => {
    const { bucket } = decision
    const partition = partitions.get(bucket) ?? getStatsPartition(bucket.accountName, bucket.bucketName)
    partitions.set(bucket, partition)
    const known = notes.get(partition)
    if (notes.isClosed() || (known === undefined && notes.size() >= maxBuckets)) return
    const ofBucket = known ?? new DecisionNotes(bucket, secretBox, budget)
    ofBucket.note(decision)
    if (known === undefined) notes.add(partition, ofBucket)
  })

  /** The time from which on a list has every refusal: that of the oldest one, if only so many are kept. */
  const findStart = Effect.fnUntraced(function* ({ accountName, bucketName }: KeyBucket, term: string, kept: number) {
    const query = { where: [term], descending: true, offset: kept - 1, limit: 1 }
    const { entries } = yield* refusalRecords.page(getStatsPartition(accountName, bucketName), query)
    const oldest = DateTime.subtract(yield* DateTime.now, { days: keptDays })
    return entries[0] === undefined ? oldest : DateTime.max(entries[0].value.on, oldest)
  })

  const list = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    query: PageRequest,
    where: ReadonlyArray<string>,
    bound: readonly [term: string, kept: number]
  ) {
    const partition = getStatsPartition(bucket.accountName, bucket.bucketName)
    const { entries, ...page } = yield* refusalRecords.page(partition, { ...query, where, descending: true })
    const refusals = entries.map(({ value }) => toRefusal(value))
    return { ...toPage(query, page, refusals), kept: { since: yield* findStart(bucket, ...bound) } }
  })

  return DecisionLog.of(
    implementOperations(DecisionLogApi, { store })({
      list: ({ params, query: { reason, requestId, ...page } }) =>
        list(
          params,
          page,
          [
            ...(reason === undefined ? [] : [byReason(reason)]),
            ...(requestId === undefined ? [] : [byRequest(requestId)])
          ],
          [withoutConsumer, 1_000]
        ),

      listOfConsumer: Effect.fnUntraced(function* ({ params, query: { reason, keyId, ...page } }) {
        const { value: consumer } = yield* findConsumer(params, params.consumerName)
        const ofConsumer = byConsumer(consumer.id)
        const where = [
          ofConsumer,
          ...(reason === undefined ? [] : [byReason(reason)]),
          ...(keyId === undefined ? [] : [byKey(keyId)])
        ]
        return yield* list(params, page, where, [ofConsumer, 100])
      }),

      outcomes: Effect.fnUntraced(function* ({ params, query: { step, from, to, consumer } = {} }) {
        if (consumer !== undefined && step === "hour") {
          return yield* invalidParameter("step", "must be day with consumer: outcomes of a consumer are counted by day")
        }
        const found = consumer === undefined ? undefined : yield* findConsumer(params, consumer)
        const series = step === "hour" ? byHour : byDay
        const getCounter = found === undefined ? series.getCounter : getConsumerCounter(found.value.id)
        const now = DateTime.toEpochMillis(yield* DateTime.now)
        const range = yield* resolveRange(series.division, { from, to }, now)
        const values = yield* readCounters(
          getStatsPartition(params.accountName, params.bucketName),
          range.steps.length * outcomes.length,
          (index) => {
            const { start = 0 } = range.steps[Math.floor(index / outcomes.length)] ?? {}
            return getCounter(outcomes[index % outcomes.length] ?? "allowed", Math.floor(start / series.length))
          }
        )
        const data = yield* forEachInPieces(range.steps, ({ start, end }, index) =>
          Effect.sync(() => {
            const [allowed = 0, ...refused] = values.subarray(index * outcomes.length, (index + 1) * outcomes.length)
            const byReason = refused.flatMap((count, place) => (count === 0 ? [] : [[outcomes[place + 1], count]]))
            return {
              start: DateTime.makeUnsafe(start),
              end: DateTime.makeUnsafe(end),
              allowed,
              refused: Object.fromEntries(byReason)
            }
          })
        )
        return { step: series.step, from: DateTime.makeUnsafe(range.from), to: DateTime.makeUnsafe(range.to), data }
      })
    })
  )
})

/** The operations on decisions: `list`, `listOfConsumer` and `outcomes`. Each takes one `OperationRequest`. */
export class DecisionLog extends Context.Service<DecisionLog, Operations<typeof DecisionLogApi, DecisionLogMethods>>()(
  "@tollgate/decisions/DecisionLog"
) {
  static readonly layer = Layer.effect(DecisionLog, make)
}
