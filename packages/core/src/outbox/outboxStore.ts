/**
 * A store for the services: a commit that leaves work for the relay, such as an event, is preceded by an entry in the
 * directory of work, and followed by a signal to the relay of this process. No operation can forget either.
 */

import { type Change, getEventsAccount, type Partition, Store } from "@tollgate/store/internal"
import { DateTime, Effect, Layer } from "effect"
import { Background } from "../jobs/Background.ts"
import { DueWork } from "../jobs/DueWork.ts"
import { HeldWork } from "../jobs/HeldWork.ts"
import { outboxRecords } from "./outboxRecords.ts"
import { AllWorkRecords, type WorkRecords } from "./WorkRecords.ts"

/** Events that a process without background work has left, for the others. */
export const eventsJob = { name: "events" }

/** Events in an outbox and in a log, and calls of hooks. */
const ownWork: WorkRecords = { newKeys: ["outbox/", "event/"], heldKeys: ["hook/"] }

type Work = "new" | "held" | undefined

/** Makes the function that finds what a commit leaves: new work for the relay, or work that this process does already. */
const makeFindWork = (ofModules: ReadonlyArray<WorkRecords>) => {
  const merge = (part: keyof WorkRecords) => [ownWork, ...ofModules].flatMap((records) => records[part] ?? [])
  const [newKeys, newTerms, heldKeys, heldTerms] = [
    merge("newKeys"),
    merge("newTerms"),
    merge("heldKeys"),
    merge("heldTerms")
  ]
  const has = (
    { key, indexTerms }: Extract<Change, { readonly _tag: "Put" }>,
    keys: ReadonlyArray<string>,
    terms: ReadonlyArray<string>
  ): boolean =>
    keys.some((prefix) => key.startsWith(prefix)) ||
    indexTerms.some((term) => terms.some((prefix) => term.startsWith(prefix)))
  return (changes: ReadonlyArray<Change>): Work => {
    let work: Work
    for (const change of changes) {
      if (change._tag !== "Put") continue
      if (has(change, newKeys, newTerms)) return "new"
      if (has(change, heldKeys, heldTerms)) work = "held"
    }
    return work
  }
}

/** The account of work in a partition. That of a metering bucket does not name it, but its events do. */
const findAccount = (partition: Partition.Partition, changes: ReadonlyArray<Change>): string => {
  const ofLog = getEventsAccount(partition)
  if (ofLog !== undefined) return ofLog
  const event = changes.find((change) => change._tag === "Put" && change.key.startsWith("outbox/"))
  const parsed = event?._tag === "Put" ? outboxRecords.parseUnchecked({ ...event, version: 0 }) : undefined
  return parsed !== undefined && "accountName" in parsed ? parsed.accountName : partition
}

export const outboxStoreLayer: Layer.Layer<Store, never, Store | HeldWork | DueWork> = Layer.effect(
  Store,
  Effect.gen(function* () {
    const store = yield* Store
    const heldWork = yield* HeldWork
    const dueWork = yield* DueWork
    const hasBackground = yield* Background
    const findWork = makeFindWork(yield* AllWorkRecords)
    /** Entries that are due at once are never relied on: each commit writes one. */
    const leaveToOthers = Effect.fnUntraced(function* (partition: Partition.Partition, changes: ReadonlyArray<Change>) {
      const accountName = Effect.sync(() => findAccount(partition, changes))
      const ensure = dueWork.ensure(eventsJob, partition, accountName, yield* DateTime.now)
      yield* Effect.catchTag(ensure, "RecordUnreadable", Effect.die)
    })
    return {
      ...store,
      commit: (partition, changes, idempotency) => {
        const commit = store.commit(partition, changes, idempotency)
        const work = findWork(changes)
        if (work === undefined) return commit
        if (!hasBackground) return Effect.andThen(leaveToOthers(partition, changes), commit)
        return heldWork.commit(partition, () => findAccount(partition, changes), commit, work === "new")
      }
    }
  })
)
