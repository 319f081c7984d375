/**
 * The request that is being answered, for whoever needs more of it than its endpoint was given.
 */
import { Context, Effect } from "effect"
import { type BodyFault, type JsonBody, jsonBody } from "./body.ts"
import type { Asked } from "./Exchange.ts"

export class Incoming extends Context.Service<
  Incoming,
  {
    readonly asked: Asked
    /** The path in the form in which it is routed. */
    readonly path: string
    readonly search: string
    /** The body, read once and checked. */
    readonly body: Effect.Effect<JsonBody, BodyFault>
  }
>()("@tollgate/core/http/Incoming") {
  static from(asked: Asked, path: string, search: string, bodyLimit: number): Incoming["Service"] {
    let known: JsonBody | undefined
    const body = Effect.suspend(() =>
      known === undefined
        ? Effect.map(jsonBody(asked, bodyLimit), (read) => {
            known = read
            return read
          })
        : Effect.succeed(known)
    )
    return { asked, path, search, body }
  }
}
