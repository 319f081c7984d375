/**
 * The OpenAPI description of the HTTP API.
 */

import type { TransportRequest } from "@tollgate/store/internal"
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { Forbidden } from "../../access/AccessError.ts"
import { Authenticator } from "../../access/Authenticator.ts"
import type { DeclaredApi } from "../../api/declareApi.ts"
import type { RouteHandler } from "../buildRoutes.ts"
import { type Cacheable, makeETag, respondCacheable } from "../cacheable.ts"
import type { DocsOption } from "../Docs.ts"
import { RequestContext } from "../RequestContext.ts"
import type { ServedRoute } from "../routes.ts"
import { addExamples, type Examples } from "./addExamples.ts"

/**
 * Renders the OpenAPI description, and caches it until the base path changes, which it never does at one mount point.
 * `servers` is the `publicUrl` or the base path from the framework binding. Without either it is a URL relative to
 * `/v1/openapi.json`, which stays correct when a proxy or router strips a prefix.
 */
const makeOpenApiRenderer = (
  { api, descriptions }: DeclaredApi,
  examples: Examples,
  publicUrl: string | undefined
): ((basePath: string) => Cacheable) => {
  let description: object | undefined
  let last: { readonly url: string; readonly rendered: Cacheable } | undefined
  const render = (url: string): Cacheable => {
    description ??= addExamples(OpenApi.fromApi(api), descriptions, examples)
    const json = JSON.stringify({ ...description, servers: [{ url }] })
    return { etag: makeETag(json), headers: { "content-type": "application/json" }, body: Buffer.from(json) }
  }
  return (basePath) => {
    const url = publicUrl ?? (basePath || "..")
    if (last?.url !== url) last = { url, rendered: render(url) }
    return last.rendered
  }
}

const openApiPath = "/v1/openapi.json"

export const makeDocsRoutes = Effect.fnUntraced(function* (
  declared: DeclaredApi,
  examples: Examples,
  docs: DocsOption,
  publicUrl: string | undefined
) {
  if (docs === false) return []
  const { authenticate } = yield* Authenticator
  const renderOpenApi = makeOpenApiRenderer(declared, examples, publicUrl)
  const respond = (request: TransportRequest) =>
    Effect.map(RequestContext, ({ basePath }) => respondCacheable(request, renderOpenApi(basePath)))

  const openApi: RouteHandler = respond
  const protectedOpenApi: RouteHandler = (request) =>
    Effect.gen(function* () {
      const { portal } = yield* authenticate(request)
      if (portal !== undefined) return yield* new Forbidden({ detail: "This session cannot be used here" })
      const response = yield* respond(request)
      return { ...response, headers: { ...response.headers, "cache-control": "private, no-cache" } }
    })

  const routes: ReadonlyArray<ServedRoute> = [
    { method: "GET", path: openApiPath, handler: docs === "protected" ? protectedOpenApi : openApi }
  ]
  return routes
})
