/**
 * A store that counts the bytes of each account's records. A commit that changes records also changes a counter of its
 * partition, so that those counters are exact. The total of an account is in a partition of its own: a process adds what it
 * has written at most once a second, and when it closes.
 *
 * So the total of an account lacks at most what was written in the last second. If a process dies, what it had not added is
 * missing until the account is counted again from the counters of its partitions: before something is refused, at most
 * once a minute.
 */

import {
  AllowedShare,
  alwaysConflicts,
  BoundedMap,
  Change,
  type IdempotencyRecord,
  InsufficientStorage,
  isOutcomeUnknown,
  measureGrowth,
  onExitEager,
  Partition,
  Store,
  type StoreError,
  type StoreOperations
} from "@tollgate/store/internal"
import { Clock, Context, Effect, Exit, Latch, Layer, Option, Stream } from "effect"
import { limitReached } from "../accounts/limits/LimitReached.ts"
import { Limits } from "../accounts/limits/Limits.ts"
import { RecordBytes } from "../accounts/RecordBytes.ts"
import { onBackgroundClock } from "../jobs/BackgroundClock.ts"
import { meteringBucketRecords } from "../metering/model/meteringBucketRecords.ts"

/** All partitions with records of an account. */
type ListPartitions = (accountName: string) => Stream.Stream<Partition.Partition, StoreError, Store>

const dayMs = 24 * 60 * 60 * 1000
/** Longer than any account is left alone: the store may drop a counter after it. */
const recordsTtl = 100 * 365 * dayMs
/** Recorded responses are kept for a day. They count until the end of the following one. */
const responsesTtl = 2 * dayMs

/** In milliseconds. */
const flushInterval = 1_000
const minRecountInterval = 60_000
const maxRecounts = 5
/** How many accounts, and accounts of partitions, a process remembers. */
const maxRemembered = 10_000

/** Bytes by the name of their counter. */
type Bytes = ReadonlyMap<string, number>

const recordsCounter = "bytes"
const responsesCounter = (day: number): string => `responses:${day}`
/** The counters that make up the bytes of a partition or of an account. */
const countersAt = (now: number): ReadonlyArray<string> => {
  const day = Math.floor(now / dayMs)
  return [recordsCounter, responsesCounter(day), responsesCounter(day - 1)]
}

const sum = (bytes: Iterable<number>): number => {
  let total = 0
  for (const count of bytes) total += count
  return total
}

/** What a commit adds: the growth of its records, and the response that it records. */
const getBytes = (growth: number, idempotency: IdempotencyRecord | undefined, now: number): Bytes => {
  const bytes = new Map([[recordsCounter, growth]])
  if (idempotency !== undefined) bytes.set(responsesCounter(Math.floor(now / dayMs)), idempotency.result.length)
  return bytes
}

const negate = (bytes: Bytes): Bytes => new Map([...bytes].map(([counter, by]) => [counter, -by]))

const toChanges = (bytes: Bytes): ReadonlyArray<Change> =>
  [...bytes].flatMap(([counter, by]) =>
    by === 0 ? [] : [Change.Add({ counter, by, ttl: counter === recordsCounter ? recordsTtl : responsesTtl })]
  )

/** A commit that adds more bytes is refused while the disk is low. */
const largeCommitBytes = 16 * 1024

/** Typed as no error of a commit: only operations that declare it get it, and nothing in between may handle it. */
const tooManyBytes = (max: number): Effect.Effect<never> =>
  Effect.fail(limitReached("recordBytesPerAccount", max)) as unknown as Effect.Effect<never>

const insufficientStorage = Effect.fail(new InsufficientStorage()) as unknown as Effect.Effect<never>

export const makeCountedStore = (store: StoreOperations, listPartitions: ListPartitions, max: number) => {
  const withStore = Effect.provideService(Store, store)
  /** What this process has written and not yet added to the total of its account. */
  const pending = new Map<string, Map<string, number>>()
  const hasPending = Latch.makeUnsafe()
  /** The totals that were last read. */
  const known = new BoundedMap<string, { total: number; readonly readAt: number }>(maxRemembered)
  const recountedAt = new BoundedMap<string, number>(maxRemembered)
  const partitionAccounts = new BoundedMap<string, string>(maxRemembered)
  /** The accounts whose counts changed since a recount of them began. */
  const changed = new Set<string>()
  /** What is being added to totals. */
  const flushing = new Map<string, number>()

  const addPending = (accountName: string, bytes: Bytes): void => {
    const counts = pending.get(accountName) ?? new Map<string, number>()
    for (const [counter, by] of bytes) counts.set(counter, (counts.get(counter) ?? 0) + by)
    pending.set(accountName, counts)
    changed.add(accountName)
    hasPending.openUnsafe()
  }

  const readBytes = (partition: Partition.Partition) =>
    Effect.gen(function* () {
      const counters = countersAt(yield* Clock.currentTimeMillis)
      const values = yield* store.counters(partition, counters)
      return new Map(counters.map((counter, index) => [counter, values[index] ?? 0]))
    })

  const addPendingTo = (accountName: string, total: number): number =>
    total + sum(pending.get(accountName)?.values() ?? []) + (flushing.get(accountName) ?? 0)

  const refresh = Effect.fnUntraced(function* (accountName: string) {
    const readAt = yield* Clock.currentTimeMillis
    const total = sum((yield* readBytes(Partition.forAccount(accountName))).values())
    known.set(accountName, { total, readAt })
  })

  const read = Effect.fnUntraced(function* (accountName: string) {
    const last = known.get(accountName)
    const isFresh = last !== undefined && (yield* Clock.currentTimeMillis) - last.readAt < flushInterval
    if (!isFresh) yield* refresh(accountName)
    return addPendingTo(accountName, known.get(accountName)?.total ?? 0)
  })

  /** What is known of the total of an account: a commit does not fail because another partition cannot be read. */
  const estimate = Effect.fnUntraced(function* (accountName: string) {
    if (known.get(accountName) === undefined) yield* Effect.ignore(refresh(accountName))
    return addPendingTo(accountName, known.get(accountName)?.total ?? 0)
  })

  /**
   * Adds what is pending to the total of an account, and reads the total, to which other processes add too. What cannot be
   * added stays pending.
   */
  const flushAccount = (accountName: string, bytes: Bytes) =>
    Effect.suspend(() => {
      pending.delete(accountName)
      flushing.set(accountName, sum(bytes.values()))
      return store.commit(Partition.forAccount(accountName), toChanges(bytes))
    }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          flushing.delete(accountName)
          changed.add(accountName)
          if (Exit.isFailure(exit)) return addPending(accountName, bytes)
          const last = known.get(accountName)
          if (last !== undefined) last.total += sum(bytes.values())
        })
      ),
      Effect.andThen(refresh(accountName)),
      Effect.ignore
    )

  const flush = Effect.suspend(() => {
    hasPending.closeUnsafe()
    return Effect.forEach([...pending], ([accountName, bytes]) => flushAccount(accountName, bytes), { concurrency: 8 })
  })

  /** What the total of an account lacks, as the sum of its partitions says. */
  const findDifference = Effect.fnUntraced(function* (accountName: string) {
    changed.delete(accountName)
    const counted = new Map<string, number>()
    const add = (bytes: Bytes) =>
      Effect.sync(() => {
        for (const [counter, by] of bytes) counted.set(counter, (counted.get(counter) ?? 0) + by)
      })
    yield* listPartitions(accountName).pipe(
      Stream.mapEffect(readBytes, { concurrency: 8 }),
      Stream.runForEach(add),
      withStore
    )
    const current = yield* readBytes(Partition.forAccount(accountName))
    const unflushed = pending.get(accountName)
    return new Map(
      [...counted].map(([counter, by]) => [counter, by - (unflushed?.get(counter) ?? 0) - (current.get(counter) ?? 0)])
    )
  })

  /** Sets the total of an account to the sum of its partitions. Counts again if this process wrote meanwhile. */
  const recount = Effect.fnUntraced(function* (accountName: string) {
    let difference = yield* findDifference(accountName)
    for (let attempt = 1; attempt < maxRecounts && (changed.has(accountName) || flushing.has(accountName)); attempt++) {
      yield* Effect.yieldNow
      difference = yield* findDifference(accountName)
    }
    yield* store.commit(Partition.forAccount(accountName), toChanges(difference))
    known.delete(accountName)
  })

  const isFull = Effect.fnUntraced(function* (accountName: string, added: number, allowed: number) {
    if ((yield* estimate(accountName)) + added <= allowed) return false
    if ((yield* read(accountName)) + added <= allowed) return false
    const now = yield* Clock.currentTimeMillis
    if (now - (recountedAt.get(accountName) ?? Number.NEGATIVE_INFINITY) < minRecountInterval) return true
    recountedAt.set(accountName, now)
    yield* Effect.ignore(recount(accountName))
    return (yield* read(accountName)) + added > allowed
  })

  /** The account of a metering bucket, which is in the first commit of its partition or can be read. */
  const readBucketAccount = Effect.fnUntraced(function* (
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>
  ) {
    const key = meteringBucketRecords.recordKey("root")
    const written = changes.find((change) => change._tag === "Put" && change.key === key)
    const [record] = written?._tag === "Put" ? [{ ...written, version: 0 }] : yield* store.get(partition, [key])
    const bucket = record === undefined ? Option.none() : yield* Effect.option(meteringBucketRecords.decode(record))
    if (Option.isNone(bucket)) return undefined
    return bucket.value.value.accountName as string
  })

  const findAccount = (partition: Partition.Partition, changes: ReadonlyArray<Change>) => {
    const known = partitionAccounts.get(partition)
    if (known !== undefined) return Effect.succeed(known)
    const owner = Partition.getOwner(partition)
    if (owner === undefined) return Effect.succeed(undefined)
    const reading = "accountName" in owner ? Effect.succeed(owner.accountName) : readBucketAccount(partition, changes)
    return Effect.tap(reading, (accountName) => {
      if (accountName !== undefined) partitionAccounts.set(partition, accountName)
      return Effect.void
    })
  }

  /** Commits the changes, and counts their bytes. */
  const commitFor = (
    accountName: string,
    bytes: Bytes,
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>,
    idempotency: IdempotencyRecord | undefined
  ) => {
    // Before the commit, so that concurrent commits do not pass the maximum together.
    addPending(accountName, bytes)
    return onExitEager(store.commit(partition, [...changes, ...toChanges(bytes)], idempotency), (exit) => {
      const isApplied = Exit.isSuccess(exit)
        ? exit.value.replayed === undefined
        : // Nobody knows either what became of a commit that was interrupted.
          Option.match(Exit.findErrorOption(exit), { onNone: () => true, onSome: isOutcomeUnknown })
      if (!isApplied) addPending(accountName, negate(bytes))
    })
  }

  const commitChecked = Effect.fnUntraced(function* (
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>,
    idempotency: IdempotencyRecord | undefined,
    growth: number
  ) {
    const accountName = yield* findAccount(partition, changes)
    if (accountName === undefined) return yield* store.commit(partition, changes, idempotency)
    const bytes = getBytes(growth, idempotency, yield* Clock.currentTimeMillis)
    const added = sum(bytes.values())
    const allowed = max * (yield* AllowedShare)
    const isLarge = added > largeCommitBytes && allowed < Number.POSITIVE_INFINITY
    if (isLarge && store.description?.isDiskLow?.() === true) return yield* insufficientStorage
    if (added > 0 && allowed < Number.POSITIVE_INFINITY && (yield* isFull(accountName, added, allowed))) {
      const refuse = tooManyBytes(max)
      if (idempotency === undefined) return yield* refuse
      // A request that was applied before gets its response, also if the account is full by now.
      const replay = store.commit(partition, [alwaysConflicts], idempotency)
      return yield* Effect.catchTag(replay, "StoreConflict", () => refuse)
    }
    return yield* commitFor(accountName, bytes, partition, changes, idempotency)
  })

  const counted: StoreOperations = {
    ...store,
    commit: (partition, changes, idempotency) => {
      const growth = measureGrowth(changes)
      return growth !== 0 || idempotency !== undefined
        ? commitChecked(partition, changes, idempotency, growth)
        : store.commit(partition, changes, idempotency)
    },
    clear: Effect.fnUntraced(function* (partition) {
      const accountName = yield* findAccount(partition, [])
      const bytes = yield* readBytes(partition)
      yield* store.clear(partition)
      if (accountName !== undefined) addPending(accountName, negate(bytes))
    })
  }
  const flushWhenPending = Effect.andThen(hasPending.await, Effect.andThen(Effect.sleep(flushInterval), flush))
  return { store: counted, read, flush, flushWhenPending }
}

/** How long the last flush may delay closing. */
const closeTimeout = "1 second"

export const countedStoreLayer = (listPartitions: ListPartitions): Layer.Layer<Store | RecordBytes, never, Store> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { recordBytesPerAccount } = yield* Limits
      const { store, read, flush, flushWhenPending } = makeCountedStore(
        yield* Store,
        listPartitions,
        recordBytesPerAccount
      )
      yield* Effect.addFinalizer(() => Effect.ignore(onBackgroundClock(Effect.timeout(flush, closeTimeout))))
      yield* Effect.forkScoped(Effect.forever(flushWhenPending))
      return Context.make(Store, store).pipe(Context.add(RecordBytes, { read }))
    })
  )
