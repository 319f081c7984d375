/**
 * The current request as a service, for handlers that need more than their decoded input.
 */

import type { TransportRequest } from "@tollgate/store/internal"
import { Context, Effect } from "effect"
import { type BodyError, type JsonBody, readJsonBody } from "./body.ts"

export interface HttpConfig {
  /** Maximum size of a JSON body in bytes. */
  readonly bodyLimit: number
  /** The path of `publicUrl`, if your application has set one. */
  readonly basePath?: string | undefined
}

/** What the handlers of a route know of the request. */
export class RequestContext extends Context.Service<
  RequestContext,
  {
    readonly request: TransportRequest
    /** The normalized path that the router matches. */
    readonly path: string
    readonly search: string
    /** The path that the HTTP API is mounted at, as clients see it. */
    readonly basePath: string
    /** The validated JSON body, of at most `limit` bytes if that is less than `bodyLimit`. It is read once and then cached. */
    readonly readBody: (limit?: number) => Effect.Effect<JsonBody, BodyError>
  }
>()("@tollgate/core/http/RequestContext") {
  static from(
    request: TransportRequest,
    path: string,
    search: string,
    { bodyLimit, basePath }: HttpConfig
  ): RequestContext["Service"] {
    let cached: JsonBody | undefined
    const readBody = (limit = bodyLimit) =>
      Effect.suspend(() =>
        cached === undefined
          ? Effect.map(readJsonBody(request, Math.min(limit, bodyLimit)), (body) => {
              cached = body
              return body
            })
          : Effect.succeed(cached)
      )
    // `publicUrl` is what clients see. The request may lack a prefix that a proxy has stripped.
    return { request, path, search, basePath: basePath || request.basePath || "", readBody }
  }
}
