/**
 * The partitions in which this process may have left work, such as events. An entry in the directory precedes the first
 * commit that leaves work in a partition, so that another process finds it if this one dies; it is removed when the
 * partition was not used for five minutes. While this process lives, no other looks there.
 */

import {
  type Entry,
  jobsDirectory,
  makeKeyedLocks,
  type Partition,
  retryOnConflict,
  Store,
  type StoreConflict,
  type StoreUnavailable
} from "@tollgate/store/internal"
import { Context, Deferred, Effect, Exit, Layer } from "effect"
import { BackgroundClock, readMonotonicMillis } from "./BackgroundClock.ts"
import { Processes } from "./Processes.ts"
import { WorkSignals } from "./WorkSignals.ts"
import { type HeldEntry, heldRecords } from "./workRecords.ts"

/** How long an entry stays after its last use. */
const idleMs = 5 * 60_000
/** Maximum entries in one commit. */
const batchSize = 500
/** How many entries one round removes. */
const maxDropped = 4 * batchSize

interface Held {
  readonly value: HeldEntry
  /** Whether the entry is certainly in the directory. Otherwise it may be there, because a reply was lost. */
  isWritten: boolean
  usedAt: number
  /** How many commits and jobs rely on the entry now. */
  users: number
  /** How often work was left, and up to which time it is done. */
  left: number
  done: number
  /** Whether a process that was taken for dead had it: its last commits may arrive late, so it is looked at again. */
  isAdopted: boolean
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const processes = yield* Processes
  const signals = yield* WorkSignals
  const clock = yield* BackgroundClock
  const lock = makeKeyedLocks()
  const held = new Map<Partition.Partition, Held>()
  /** Entries that are being removed. */
  let dropping:
    | { readonly partitions: ReadonlySet<Partition.Partition>; readonly done: Deferred.Deferred<void> }
    | undefined

  const find = (partition: Partition.Partition): Held | undefined => {
    const found = held.get(partition)
    return found?.isWritten === true && found.value.holder === processes.getId() ? found : undefined
  }

  /** The entry of a partition, which may have to be written yet. */
  const add = (value: HeldEntry): Held => {
    const usedAt = readMonotonicMillis(clock)
    const existing = held.get(value.partition as Partition.Partition)
    if (existing?.value.holder === value.holder) return Object.assign(existing, { usedAt })
    const added = { value, isWritten: false, usedAt, users: 0, left: 0, done: 0, isAdopted: false }
    held.set(value.partition as Partition.Partition, added)
    return added
  }

  /** The entries as they are in the directory, with version 0 if they are not there. */
  const read = (values: ReadonlyArray<HeldEntry>) =>
    Effect.map(
      store.get(
        jobsDirectory,
        values.map(({ holder, partition }) => heldRecords.recordKey(`${holder}/${partition}`))
      ),
      (records) => values.map((value, index) => ({ value, version: records[index]?.version ?? 0 }))
    )

  /** Writes entries, also those that are there: their removal may still be on the way. */
  const write = Effect.fnUntraced(function* (
    values: ReadonlyArray<HeldEntry>,
    removed: ReadonlyArray<Entry<HeldEntry>>
  ) {
    const entries = yield* read(values)
    yield* store.commit(jobsDirectory, [
      ...removed.map(heldRecords.remove),
      ...entries.map((entry) => heldRecords.replace(entry, entry.value))
    ])
  })

  /** Keeps an entry while an effect runs. */
  const keep = <A, E, R>(found: Held, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    found.users++
    return Effect.ensuring(
      effect,
      Effect.sync(() => {
        found.users--
        found.usedAt = readMonotonicMillis(clock)
      })
    )
  }

  const hold = (partition: Partition.Partition, accountName: string) =>
    lock(
      partition,
      Effect.gen(function* () {
        if (dropping?.partitions.has(partition) === true) yield* Deferred.await(dropping.done)
        const found = find(partition)
        if (found !== undefined) return found
        const added = add({ holder: yield* processes.join, partition, accountName })
        const insert = store.commit(jobsDirectory, [heldRecords.insert(added.value)])
        const overwrite = retryOnConflict(write([added.value], []))
        yield* keep(
          added,
          Effect.catchTag(insert, "StoreConflict", () => overwrite)
        )
        added.isWritten = true
        return added
      })
    )

  const commitHeld = <A, E>(
    partition: Partition.Partition,
    found: Held,
    commit: Effect.Effect<A, E>,
    isNew: boolean
  ): Effect.Effect<A, E> => {
    if (!isNew) return keep(found, commit)
    return Effect.ensuring(
      keep(found, commit),
      // Also after a failure: if the reply was lost, the work may be there.
      Effect.sync(() => {
        found.left++
        signals.add(partition, found.value.accountName)
      })
    )
  }

  /** Whether nothing relies on the entry, and all work is done. */
  const isUnused = ({ users, left, done }: Held): boolean => users === 0 && left === done

  const isIdle = (found: Held): boolean => isUnused(found) && readMonotonicMillis(clock) - found.usedAt >= idleMs

  const drop = Effect.fnUntraced(function* (dropped: ReadonlyArray<Held>) {
    const partitions = new Set(dropped.map(({ value }) => value.partition as Partition.Partition))
    const done = Deferred.makeUnsafe<void>()
    dropping = { partitions, done }
    for (const partition of partitions) held.delete(partition)
    const remove = Effect.gen(function* () {
      // Another process may have taken this one for dead, and have some of them.
      const entries = (yield* read(dropped.map(({ value }) => value))).filter(({ version }) => version > 0)
      if (entries.length > 0) yield* store.commit(jobsDirectory, entries.map(heldRecords.remove))
    })
    yield* Effect.onExit(retryOnConflict(remove), (exit) => {
      dropping = undefined
      // Not relied on any more: they may be removed.
      if (Exit.isFailure(exit)) for (const { value } of dropped) add(value)
      return Deferred.succeed(done, undefined)
    })
  })

  /** Removes those that can be removed when it is their turn: others were used meanwhile. */
  const dropAll = Effect.fnUntraced(function* (candidates: ReadonlyArray<Held>, canDrop: (found: Held) => boolean) {
    for (let start = 0; start < candidates.length; start += batchSize) {
      const batch = candidates
        .slice(start, start + batchSize)
        .filter((found) => held.get(found.value.partition as Partition.Partition) === found && canDrop(found))
      if (batch.length > 0) yield* drop(batch)
    }
  })

  return HeldWork.of({
    commit: (partition, findAccount, commit, isNew) =>
      Effect.suspend(() => {
        const found = find(partition)
        if (found !== undefined) return commitHeld(partition, found, commit, isNew)
        return Effect.flatMap(hold(partition, findAccount()), (found) => commitHeld(partition, found, commit, isNew))
      }),
    keep: (partition, effect) =>
      Effect.suspend(() => {
        const found = held.get(partition)
        return found === undefined ? effect : keep(found, effect)
      }),
    leave: (partition) => {
      const found = held.get(partition)
      if (found !== undefined) found.left++
    },
    begin: (partition) => {
      const found = held.get(partition)
      if (found === undefined) return () => undefined
      const { left } = found
      return () => {
        found.done = Math.max(found.done, left)
      }
    },
    adopt: Effect.fnUntraced(function* (entries) {
      const holder = yield* processes.join
      if (dropping !== undefined) yield* Deferred.await(dropping.done)
      const adopted = entries.map(({ value: { partition, accountName } }) => {
        const found = add({ holder, partition, accountName })
        return Object.assign(found, { left: found.left + 1, isAdopted: true })
      })
      // Also if the commit fails: when its reply was lost, no other process does the work.
      for (const { value } of entries) signals.add(value.partition as Partition.Partition, value.accountName)
      const fresh = adopted.filter(({ isWritten }) => !isWritten)
      yield* write(
        fresh.map(({ value }) => value),
        entries
      )
      for (const found of fresh) found.isWritten = true
    }),
    dropIdle: Effect.suspend(() => {
      const idle: Array<Held> = []
      for (const found of held.values()) {
        if (!isIdle(found)) continue
        if (found.isAdopted) {
          const { partition, accountName } = found.value
          Object.assign(found, { isAdopted: false, left: found.left + 1 })
          signals.add(partition as Partition.Partition, accountName)
        } else if (idle.push(found) === maxDropped) break
      }
      return dropAll(idle, isIdle)
    }),
    close: Effect.suspend(() => dropAll([...held.values()], (found) => isUnused(found) && !found.isAdopted)).pipe(
      Effect.ignore,
      Effect.andThen(processes.leave)
    )
  })
})

/** The partitions in which this process may have left work. */
export class HeldWork extends Context.Service<
  HeldWork,
  {
    /** Runs a commit that leaves work in a partition. */
    readonly commit: <A, E>(
      partition: Partition.Partition,
      /** Whose work it is. Called if the partition has no entry yet. */
      findAccount: () => string,
      commit: Effect.Effect<A, E>,
      /** Whether the relay of this process has to do something. */
      isNew: boolean
    ) => Effect.Effect<A, E | StoreConflict | StoreUnavailable>
    /** Runs an effect that does the work of a partition, and keeps the entry meanwhile. */
    readonly keep: <A, E, R>(partition: Partition.Partition, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Says that there is work in a partition which this process will not do, because it closes. */
    readonly leave: (partition: Partition.Partition) => void
    /** Call it before the work of a partition is read. The result says that it is done, but not what was left since. */
    readonly begin: (partition: Partition.Partition) => () => void
    /** Takes over the entries of a process that does not live, and their work. */
    readonly adopt: (entries: ReadonlyArray<Entry<HeldEntry>>) => Effect.Effect<void, StoreConflict | StoreUnavailable>
    /** Removes the entries that were not used for some time. */
    readonly dropIdle: Effect.Effect<void, StoreConflict | StoreUnavailable>
    /** Removes all entries whose work is done, and leaves the others to other processes. */
    readonly close: Effect.Effect<void>
  }
>()("@tollgate/core/jobs/HeldWork") {
  static readonly layer = Layer.effect(HeldWork, make)
}
