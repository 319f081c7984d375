/**
 * The routes that document the HTTP API: the OpenAPI description, and a page to read and try it.
 */
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { Authenticator } from "../../access/Authenticator.ts"
import { descriptions } from "../../operations/AllOperations.ts"
import { Api } from "../../operations/Api.ts"
import type { TransportRequest } from "../../runtime/Transport.ts"
import type { RouteHandler } from "../buildRoutes.ts"
import { type Cacheable, makeETag, respondCacheable } from "../cacheable.ts"
import { RequestContext } from "../RequestContext.ts"
import { docsPath, openApiPath } from "../routes.ts"
import { addExamples } from "./addExamples.ts"
import { docsPage } from "./docsPage.ts"

/** Whether the documentation is served, and whether the OpenAPI description requires authentication. */
export type DocsOption = boolean | "protected"

/**
 * Renders the OpenAPI description, and caches it until the base path changes, which it never does at one mount point.
 * `servers` is the `publicUrl` or the base path from the framework binding. Without either it is a URL relative to
 * `/v1/openapi.json`, which stays correct when a proxy or router strips a prefix.
 */
const makeOpenApiRenderer = (publicUrl: string | undefined): ((basePath: string) => Cacheable) => {
  let description: object | undefined
  let last: { readonly url: string; readonly rendered: Cacheable } | undefined
  const render = (url: string): Cacheable => {
    description ??= addExamples(OpenApi.fromApi(Api), descriptions)
    const json = JSON.stringify({ ...description, servers: [{ url }] })
    return { etag: makeETag(json), headers: { "content-type": "application/json" }, body: Buffer.from(json) }
  }
  return (basePath) => {
    const url = publicUrl ?? (basePath || "..")
    if (last?.url !== url) last = { url, rendered: render(url) }
    return last.rendered
  }
}

export const makeDocsRoutes = Effect.fnUntraced(function* (docs: DocsOption, publicUrl: string | undefined) {
  if (docs === false) return []
  const { authenticate } = yield* Authenticator
  const renderOpenApi = makeOpenApiRenderer(publicUrl)
  const respond = (request: TransportRequest) =>
    Effect.map(RequestContext, ({ basePath }) => respondCacheable(request, renderOpenApi(basePath)))

  const openApi: RouteHandler = respond
  const protectedOpenApi: RouteHandler = (request) =>
    Effect.map(Effect.andThen(authenticate(request), respond(request)), (response) => ({
      ...response,
      headers: { ...response.headers, "cache-control": "private, no-cache" }
    }))
  const page: RouteHandler = (request) => Effect.sync(() => respondCacheable(request, docsPage))

  return [
    ["GET", openApiPath, docs === "protected" ? protectedOpenApi : openApi],
    ["GET", docsPath, page]
  ] as const
})
