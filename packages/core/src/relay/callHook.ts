/**
 * Calls a hook for the events of an account, one after the other and at least once each. A process claims the account
 * first, so that only one calls the hook; if it dies, another goes on.
 */

import { type Entry, Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { Cause, DateTime, Effect, Option, Schedule, Stream } from "effect"
import { onBackgroundClock } from "../jobs/BackgroundClock.ts"
import { Processes } from "../jobs/Processes.ts"
import { countEventsBefore } from "../outbox/countEventsBefore.ts"
import { byType, eventRecords } from "../outbox/eventRecords.ts"
import { instruments } from "../telemetry/instruments.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import type { EventHook } from "./EventHooks.ts"
import { type HookState, hookStates } from "./hookRecords.ts"

const pageSize = 100

/** A hook that fails is called five times for an event, in 15 seconds. Then the next event follows. */
const retries = { schedule: Schedule.exponential("1 second"), times: 4 }

const toTerms = ({ type }: EventHook): ReadonlyArray<string> => (type === undefined ? [] : [byType(type)])

/** The version of the last event that is older than the hook; 0 if there is none. */
const findFirstPosition = (partition: Partition.Partition, registeredOn: DateTime.Utc) =>
  eventRecords.stream(partition, { pageSize, descending: true }).pipe(
    Stream.filter(({ value }) => DateTime.isLessThan(value.occurredOn, registeredOn)),
    Stream.runHead,
    Effect.map(Option.match({ onNone: () => 0, onSome: ({ version }) => version }))
  )

interface Call {
  readonly accountName: string
  readonly hook: EventHook
  /** When the hook was first configured. */
  readonly registeredOn: DateTime.Utc
}

/** Claims the account for this process. Returns none if another process has claimed it, and lives. */
const claim = ({ accountName, hook, registeredOn }: Call, holder: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const { isAlive } = yield* Processes
      const partition = Partition.forEvents(accountName)
      const entry = yield* hookStates.get(partition, hook.name)
      const current = Option.isSome(entry) ? entry.value.value : undefined
      const isTaken = current?.holder !== undefined && current.holder !== holder && (yield* isAlive(current.holder))
      if (isTaken) return Option.none<Entry<HookState>>()
      const value: HookState = {
        hook: hook.name,
        handledTo: current?.handledTo ?? (yield* findFirstPosition(partition, registeredOn)),
        holder
      }
      const change = Option.isSome(entry) ? hookStates.replace(entry.value, value) : hookStates.insert(value)
      const commitResult = yield* store.commit(partition, [change])
      return Option.some<Entry<HookState>>({ value, version: hookStates.getVersion(commitResult, hook.name) })
    })
  )

/** Records that an event was handled, unless another process has taken over. */
const setHandled = ({ accountName, hook }: Call, holder: string, handledTo: number) =>
  hookStates.modify(Partition.forEvents(accountName), hook.name, (state) =>
    Effect.succeed(state.holder === holder ? { ...state, handledTo } : state)
  )

const release = ({ accountName, hook }: Call, claimedBy: string) =>
  hookStates.modify(Partition.forEvents(accountName), hook.name, (state) => {
    const { holder, ...rest } = state
    return Effect.succeed(holder === claimedBy ? rest : state)
  })

/** Events after a position in the log. */
const readAfter = Effect.fnUntraced(function* (accountName: string, hook: EventHook, handledTo: number) {
  const [partition, where] = [Partition.forEvents(accountName), toTerms(hook)]
  for (;;) {
    const handled = yield* countEventsBefore(partition, where, handledTo + 1)
    const offset = Math.max(0, handled - 1)
    const { entries } = yield* eventRecords.page(partition, { where, offset, limit: pageSize })
    // Unless the page begins with the last event that was handled, old events were dropped meanwhile, and it skips some.
    if (offset === 0 || (entries[0]?.version ?? 0) <= handledTo) {
      return entries.filter(({ version }) => version > handledTo)
    }
  }
})

const handleAll = Effect.fnUntraced(function* (call: Call, holder: string, first: number) {
  const { accountName, hook } = call
  const { series } = yield* Telemetry
  const countCall = (outcome: "succeeded" | "failed") =>
    series(instruments.hookCalls, { "tollgate.hook": hook.name, "tollgate.outcome": outcome })(1)
  for (let handledTo = first; ; ) {
    const entries = yield* readAfter(accountName, hook, handledTo)
    if (entries.length === 0) return
    for (const { value: event, version } of entries) {
      yield* Effect.suspend(() => hook.handle(event)).pipe(
        Effect.retry(retries),
        onBackgroundClock,
        Effect.tap(Effect.sync(() => countCall("succeeded"))),
        Effect.catchCause((cause) => {
          if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
          countCall("failed")
          return Effect.logError(`${hook.name} failed for ${event.type} ${event.id}`, cause)
        })
      )
      yield* setHandled(call, holder, version)
      handledTo = version
    }
  }
})

/** Calls the hook for all new events of an account. Returns whether they are handled: another process may do it. */
export const callHook = Effect.fnUntraced(function* (call: Call) {
  const { accountName, hook } = call
  const state = yield* hookStates.get(Partition.forEvents(accountName), hook.name)
  if (Option.isSome(state)) {
    const entries = yield* readAfter(accountName, hook, state.value.value.handledTo)
    if (entries.length === 0) return true
  }
  const processes = yield* Processes
  const holder = yield* processes.join
  const claimed = yield* claim(call, holder)
  if (Option.isNone(claimed)) return false
  yield* Effect.raceFirst(handleAll(call, holder, claimed.value.value.handledTo), processes.awaitLost(holder)).pipe(
    Effect.ensuring(Effect.ignoreCause(release(call, holder)))
  )
  return true
})
