/**
 * Which events each hook has handled. In the log of an account: the last event, and which process calls the hook. In the
 * directory: since when the hook exists.
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { Timestamp } from "../schema/Timestamp.ts"
import * as Collection from "../store/Collection.ts"
import { eventsDirectory } from "../store/Partition.ts"
import { Store } from "../store/Store.ts"

const HookState = Schema.Struct({
  hook: Schema.String,
  /** The version of the last event in the log that was handled. */
  handledTo: Schema.Int,
  /** The process that calls the hook, until this time. */
  claim: Schema.optionalKey(Schema.Struct({ holder: Schema.String, until: Timestamp }))
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
