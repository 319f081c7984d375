/**
 * Work that is due at a time, such as the end of a trial. An entry in the directory precedes the commit that causes the
 * work, unless this process knows of one that is at least as early. Any process does the work then.
 */

import {
  BoundedMap,
  ConfigurationError,
  jobsDirectory,
  makeKeyedLocks,
  type Partition,
  retryOnConflict,
  Store,
  type StoreError
} from "@tollgate/store/internal"
import { Clock, Context, DateTime, Effect, Layer } from "effect"
import { BackgroundClock, readMonotonicMillis } from "./BackgroundClock.ts"
import type { JobKind } from "./JobKind.ts"
import { dueKey, dueRecords } from "./workRecords.ts"

/** How long a process relies on an entry that it has written. */
const entryLifetimeMs = 5 * 60_000
/** How many entries a process remembers. */
const maxKnown = 10_000

interface Known {
  readonly dueOn: number
  readonly writtenAt: number
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const clock = yield* BackgroundClock
  const withStore = Effect.provideService(Store, store)
  const lock = makeKeyedLocks()
  const known = new BoundedMap<string, Known>(maxKnown)
  const kinds = new Map<string, JobKind>()

  /** An entry is relied on until it is due: from then on, a process may have done the work already. */
  const isKnown = (key: string, dueOn: DateTime.Utc, now: number): boolean => {
    const entry = known.get(key)
    if (entry === undefined || readMonotonicMillis(clock) - entry.writtenAt >= entryLifetimeMs) return false
    return now < entry.dueOn && entry.dueOn <= DateTime.toEpochMillis(dueOn)
  }

  /** Writes the entry also if there is one that is earlier: then no process removes it. */
  const write = Effect.fnUntraced(function* <E>(
    { name: kind }: Pick<JobKind, "name">,
    partition: Partition.Partition,
    accountName: Effect.Effect<string, E>,
    dueOn: DateTime.Utc
  ) {
    const key = dueKey(kind, partition)
    const writtenAt = readMonotonicMillis(clock)
    const ownValue = { kind, partition, accountName: yield* accountName, dueOn }
    const value = yield* retryOnConflict(
      Effect.gen(function* () {
        const [record] = yield* store.get(jobsDirectory, [dueRecords.recordKey(key)])
        if (record === undefined) {
          yield* store.commit(jobsDirectory, [dueRecords.insert(ownValue)])
          return ownValue
        }
        const entry = yield* dueRecords.decode(record)
        const value = { ...ownValue, dueOn: DateTime.min(entry.value.dueOn, dueOn) }
        yield* store.commit(jobsDirectory, [dueRecords.replace(entry, value)])
        return value
      })
    )
    known.set(key, { dueOn: DateTime.toEpochMillis(value.dueOn), writtenAt })
  })

  return DueWork.of({
    ensure: (kind, partition, accountName, dueOn) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const key = dueKey(kind.name, partition)
        if (isKnown(key, dueOn, now)) return Effect.void
        const attempt = Effect.suspend(() =>
          isKnown(key, dueOn, now) ? Effect.void : write(kind, partition, accountName, dueOn)
        )
        return withStore(lock(key, attempt))
      }),
    register: (kind) =>
      Effect.suspend(() => {
        const isTaken = kinds.has(kind.name)
        kinds.set(kind.name, kind)
        const problem = `there is already background work named ${kind.name}; give each kind a name of its own`
        return isTaken ? Effect.die(new ConfigurationError({ option: "modules", problem })) : Effect.void
      }),
    findKind: (name) => kinds.get(name),
    kindNames: () => [...kinds.keys()]
  })
})

/** Work that is due at a time. */
export class DueWork extends Context.Service<
  DueWork,
  {
    /** Sees to it that some process does the work of this kind in a partition at this time. Call it before the commit. */
    readonly ensure: <E>(
      kind: Pick<JobKind, "name">,
      partition: Partition.Partition,
      /** Whose work it is. Read only if an entry is written. */
      accountName: Effect.Effect<string, E>,
      dueOn: DateTime.Utc
    ) => Effect.Effect<void, E | StoreError>
    /** Lets this process do a kind of work. Dies with a `ConfigurationError` if there is one of that name. */
    readonly register: (kind: JobKind) => Effect.Effect<void>
    readonly findKind: (name: string) => JobKind | undefined
    /** The kinds of work that this process does. */
    readonly kindNames: () => ReadonlyArray<string>
  }
>()("@tollgate/core/jobs/DueWork") {
  static readonly layer = Layer.effect(DueWork, make)
}
