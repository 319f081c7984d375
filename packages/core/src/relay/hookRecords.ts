/**
 * Which events each hook has handled. In the log of an account: the last event, and which process calls the hook. In the
 * directory: since when the hook exists.
 */

import { Collection, eventsDirectory, Store, Timestamp } from "@tollgate/store/internal"
import { DateTime, Effect, Option, Schema } from "effect"

const HookState = Schema.Struct({
  hook: Schema.String,
  /** The version of the last event in the log that was handled. */
  handledTo: Schema.Int,
  /** The process that calls the hook, while it lives. */
  holder: Schema.optionalKey(Schema.String)
})
export type HookState = typeof HookState.Type

export const hookStates = Collection.make({ name: "hook", format: 1, schema: HookState, key: ({ hook }) => hook })

const registrations = Collection.make({
  name: "hook",
  format: 1,
  schema: Schema.Struct({ hook: Schema.String, registeredOn: Timestamp }),
  key: ({ hook }) => hook
})

/** When the hook was first configured. It is not called for earlier events. */
export const registerHook = Effect.fnUntraced(function* (hook: string) {
  const store = yield* Store
  const existing = yield* registrations.get(eventsDirectory, hook)
  if (Option.isSome(existing)) return existing.value.value.registeredOn
  const registration = { hook, registeredOn: yield* DateTime.now }
  yield* Effect.catchTag(
    store.commit(eventsDirectory, [registrations.insert(registration)]),
    "StoreConflict",
    () => Effect.void
  )
  return registration.registeredOn
})
