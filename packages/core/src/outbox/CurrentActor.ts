/**
 * Who caused a change. HTTP provides the credential of the request; a call in process is made by the host, which may
 * name its user; background work is done by the system.
 */
import { Context, Effect, Schema } from "effect"

/** Who caused an event. */
export const Actor = Schema.Struct({
  type: Schema.Literals(["token", "host", "system"]),
  id: Schema.optionalKey(Schema.String),
  /** The name of the token, or of the person. */
  name: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "EventActor" })
export type Actor = typeof Actor.Type

/** Who does the current work. Events name it; the default is your application. */
export const CurrentActor = Context.Reference<Actor>("@tollgate/core/outbox/CurrentActor", {
  defaultValue: () => ({ type: "host" })
})

/** Runs background work: the actor of its events is the system. */
export const asSystem = Effect.provideService(CurrentActor, { type: "system" })
