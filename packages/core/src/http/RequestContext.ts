/**
 * The request that is being answered, for whoever needs more of it than its endpoint was given.
 */
import { Context, Effect } from "effect"
import type { SitesUrl } from "../deployments/ports/SitesUrl.ts"
import type { TransportRequest } from "../runtime/Transport.ts"
import { type BodyError, type JsonBody, readJsonBody } from "./body.ts"

export interface HttpConfig {
  /** Bytes that a JSON body may have. */
  readonly bodyLimit: number
  /** The path of the interface's address, where the host has told it. */
  readonly basePath?: string | undefined
  /** The hosts that serve sites and nothing else. */
  readonly sites?: SitesUrl | undefined
}

export class RequestContext extends Context.Service<
  RequestContext,
  {
    readonly request: TransportRequest
    /** The path in the form in which it is routed. */
    readonly path: string
    readonly search: string
    /** Where the interface is mounted, as clients see it. */
    readonly basePath: string
    /** The body, read once and checked. */
    readonly body: Effect.Effect<JsonBody, BodyError>
  }
>()("@tollgate/core/http/RequestContext") {
  static from(
    request: TransportRequest,
    path: string,
    search: string,
    { bodyLimit, basePath }: HttpConfig
  ): RequestContext["Service"] {
    let known: JsonBody | undefined
    const body = Effect.suspend(() =>
      known === undefined
        ? Effect.map(readJsonBody(request, bodyLimit), (read) => {
            known = read
            return read
          })
        : Effect.succeed(known)
    )
    // What the host has told is what clients see; a proxy may have taken some of it off.
    return { request, path, search, basePath: basePath || request.basePath || "", body }
  }
}
