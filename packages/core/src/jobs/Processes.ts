/**
 * Which processes live. A process that holds something has a record, and changes it every few seconds. Others take it for
 * dead when they have seen the record unchanged for ten seconds, on their own monotonic clocks: the clocks of two machines
 * are never compared. So a lease is the id of a process, and is not renewed.
 *
 * A process that was taken for dead, because it was suspended or could not reach the store, loses its id, and with it
 * everything that it held. It finds that out when it next writes its record.
 */

import {
  Base62,
  type Entry,
  jobsDirectory,
  Store,
  type StoreConflict,
  type StoreError,
  type StoreUnavailable
} from "@tollgate/store/internal"
import { Context, DateTime, Deferred, Effect, Layer, Option } from "effect"
import { BackgroundClock, pause, readMonotonicMillis } from "./BackgroundClock.ts"
import { type ProcessRecord, processRecords } from "./processRecords.ts"
import { heldQueries } from "./workRecords.ts"

/** How often a process changes its record. */
const beatInterval = "3 seconds"
/** How long a process may be without a heartbeat. */
const deadAfterMs = 10_000
/** How long this process relies on what it has seen. */
const freshMs = 3_000
/** After a longer time without a look it starts to watch anew: the store may have failed for all processes. */
const maxGapMs = 6_000

/** A process that does not live. */
export interface DeadProcess {
  readonly entry: Entry<ProcessRecord>
  /** For how long this process has seen the record unchanged. */
  readonly unchangedMs: number
}

type WriteError = StoreConflict | StoreUnavailable

interface Sighting {
  readonly version: number
  readonly isEnded: boolean
  /** Since when the record is unchanged, and when it was last read, in milliseconds of the monotonic clock. */
  readonly since: number
  readonly seenAt: number
}

/** The membership of this process, from the first time that it held something until it was taken for dead. */
interface Membership {
  readonly id: string
  readonly lost: Deferred.Deferred<void>
  entry: Entry<ProcessRecord>
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const clock = yield* BackgroundClock
  const scope = yield* Effect.scope
  const withStore = Effect.provideService(Store, store)
  const sightings = new Map<string, Sighting>()
  let membership: Membership | undefined
  let joining: Deferred.Deferred<Membership, WriteError> | undefined

  const see = (entry: Entry<ProcessRecord>): Sighting => {
    const seenAt = readMonotonicMillis(clock)
    const { id, endedBy } = entry.value
    const earlier = sightings.get(id)
    const isWatched = earlier?.version === entry.version && seenAt - earlier.seenAt < maxGapMs
    const since = isWatched ? earlier.since : seenAt
    const sighting = { version: entry.version, isEnded: endedBy !== undefined, since, seenAt }
    sightings.set(id, sighting)
    return sighting
  }

  const isDead = ({ isEnded, since, seenAt }: Sighting): boolean => isEnded || seenAt - since >= deadAfterMs

  const write = Effect.fnUntraced(function* (member: Membership) {
    const value = { ...member.entry.value, beats: member.entry.value.beats + 1 }
    const commitResult = yield* store.commit(jobsDirectory, [processRecords.replace(member.entry, value)])
    member.entry = { value, version: processRecords.getVersion(commitResult, member.id) }
  })

  /** Shows that this process lives. Returns whether it still has its id. */
  const beat = (member: Membership) =>
    Effect.as(write(member), true).pipe(
      Effect.catchTag(
        "StoreConflict",
        Effect.fnUntraced(function* () {
          const found = yield* processRecords.get(jobsDirectory, member.id)
          // The reply to an earlier write was lost.
          if (Option.isSome(found) && found.value.value.endedBy === undefined) {
            member.entry = found.value
            return true
          }
          return false
        })
      )
    )

  const beatUntilLost = (member: Membership): Effect.Effect<void> =>
    Effect.provideService(pause(beatInterval), BackgroundClock, clock).pipe(
      Effect.andThen(withStore(beat(member))),
      Effect.catchCause((cause) => Effect.as(Effect.logDebug("A heartbeat failed", cause), true)),
      Effect.repeat({ while: (isMember) => isMember }),
      Effect.andThen(
        Effect.suspend(() => {
          if (membership === member) membership = undefined
          return Deferred.succeed(member.lost, undefined)
        })
      )
    )

  const joinAnew = Effect.gen(function* () {
    const id = yield* Base62.random(22)
    const value = { id, startedOn: yield* DateTime.now, beats: 0 }
    const commitResult = yield* store.commit(jobsDirectory, [processRecords.insert(value)])
    const entry = { value, version: processRecords.getVersion(commitResult, id) }
    const member: Membership = { id, lost: yield* Deferred.make<void>(), entry }
    membership = member
    yield* Effect.forkIn(beatUntilLost(member), scope)
    return member
  })

  /** Makes this process known to the others, if it is not. Of many calls at once, the first one writes. */
  const joinOnce: Effect.Effect<Membership, WriteError> = Effect.suspend(() => {
    if (membership !== undefined) return Effect.succeed(membership)
    if (joining !== undefined) return Deferred.await(joining)
    const joined = Deferred.makeUnsafe<Membership, WriteError>()
    joining = joined
    return Effect.uninterruptible(
      Effect.onExit(joinAnew, (exit) => {
        joining = undefined
        return Deferred.done(joined, exit)
      })
    )
  })

  const readSighting = Effect.fnUntraced(function* (id: string) {
    const seen = sightings.get(id)
    if (seen !== undefined && readMonotonicMillis(clock) - seen.seenAt < freshMs) return Option.some(seen)
    const found = yield* processRecords.get(jobsDirectory, id)
    if (Option.isNone(found)) sightings.delete(id)
    return Option.map(found, see)
  })

  return Processes.of({
    join: Effect.map(joinOnce, ({ id }) => id),
    getId: () => membership?.id,
    awaitLost: (id) => (membership?.id === id ? Deferred.await(membership.lost) : Effect.void),
    isAlive: (id) =>
      membership?.id === id
        ? Effect.succeed(true)
        : withStore(
            Effect.map(
              readSighting(id),
              Option.exists((sighting) => !isDead(sighting))
            )
          ),
    findDead: (entries) => {
      const ids = new Set(entries.map(({ value }) => value.id))
      for (const id of sightings.keys()) if (!ids.has(id)) sightings.delete(id)
      return entries.flatMap((entry) => {
        const sighting = see(entry)
        const isOther = entry.value.id !== membership?.id
        return isOther && isDead(sighting) ? [{ entry, unchangedMs: sighting.seenAt - sighting.since }] : []
      })
    },
    leave: Effect.gen(function* () {
      const member = membership
      if (member === undefined) return
      membership = undefined
      const { entry, id } = member
      const pages = yield* store.list(jobsDirectory, heldQueries(id, 0))
      const change = pages.every(({ total }) => total === 0)
        ? processRecords.remove(entry)
        : processRecords.replace(entry, { ...entry.value, endedBy: id })
      yield* store.commit(jobsDirectory, [change])
    }).pipe(Effect.ignore)
  })
})

/** Which processes live. */
export class Processes extends Context.Service<
  Processes,
  {
    /** Makes this process known to the others, and returns its id. Call it before this process holds something. */
    readonly join: Effect.Effect<string, WriteError>
    /** The id of this process, if it holds or has held something. */
    readonly getId: () => string | undefined
    /** Waits until this process has lost this id of its own, and with it what it holds. */
    readonly awaitLost: (id: string) => Effect.Effect<void>
    /** Whether the process with this id lives. Reads its record unless this process has just seen it. */
    readonly isAlive: (id: string) => Effect.Effect<boolean, StoreError>
    /** Those of all processes that do not live. */
    readonly findDead: (entries: ReadonlyArray<Entry<ProcessRecord>>) => ReadonlyArray<DeadProcess>
    /** Ends the membership of this process. Others do what it has left at once. */
    readonly leave: Effect.Effect<void>
  }
>()("@tollgate/core/jobs/Processes") {
  static readonly layer = Layer.effect(Processes, make)
}
