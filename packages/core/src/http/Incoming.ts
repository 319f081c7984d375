/**
 * The request that is being answered, for whoever needs more of it than its endpoint was given.
 */
import { Context, Effect } from "effect"
import type { SitesAddress } from "../deployments/SitesAddress.ts"
import { type BodyFault, type JsonBody, jsonBody } from "./body.ts"
import type { Asked } from "./Exchange.ts"

export interface InterfaceSettings {
  /** Bytes that a JSON body may have. */
  readonly bodyLimit: number
  /** The path of the interface's address, where the host has told it. */
  readonly base?: string
  /** The hosts that serve sites and nothing else. */
  readonly sites?: SitesAddress | undefined
}

export class Incoming extends Context.Service<
  Incoming,
  {
    readonly asked: Asked
    /** The path in the form in which it is routed. */
    readonly path: string
    readonly search: string
    /** Where the interface is mounted, as clients see it. */
    readonly base: string
    /** The body, read once and checked. */
    readonly body: Effect.Effect<JsonBody, BodyFault>
  }
>()("@tollgate/core/http/Incoming") {
  static from(asked: Asked, path: string, search: string, { bodyLimit, base }: InterfaceSettings): Incoming["Service"] {
    let known: JsonBody | undefined
    const body = Effect.suspend(() =>
      known === undefined
        ? Effect.map(jsonBody(asked, bodyLimit), (read) => {
            known = read
            return read
          })
        : Effect.succeed(known)
    )
    // What the host has told is what clients see; a proxy may have taken some of it off.
    return { asked, path, search, base: base || asked.base || "", body }
  }
}
