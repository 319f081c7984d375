/**
 * The endpoints that describe the HTTP API: its OpenAPI description, and a page to read and try it.
 */
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { Authenticator } from "../../access/Authenticator.ts"
import type { TransportRequest } from "../../runtime/Transport.ts"
import { Api } from "../Api.ts"
import { type Cacheable, makeETag, respondCacheable } from "../cacheable.ts"
import type { RouteHandler } from "../compile.ts"
import { RequestContext } from "../RequestContext.ts"
import { docsPath, openApiPath } from "../routes.ts"
import { toProblems } from "../toProblems.ts"
import { docsPage } from "./docsPage.ts"

/** Whether the API describes itself, and to whom. */
export type DocsOption = boolean | "protected"

/**
 * Describes the API, rendering again only when the address changes, which one mount never does. `servers` is the
 * address that the host or the binding knows; where neither knows one, it is relative to `/v1/openapi.json`, and so is
 * right below any prefix that a proxy or a router strips.
 */
const makeDescription = (publicUrl: string | undefined): ((base: string) => Cacheable) => {
  let description: object | undefined
  let last: { readonly url: string; readonly rendered: Cacheable } | undefined
  const render = (url: string): Cacheable => {
    description ??= OpenApi.fromApi(Api)
    const json = JSON.stringify({ ...description, servers: [{ url }] })
    return { etag: makeETag(json), headers: { "content-type": "application/json" }, body: Buffer.from(json) }
  }
  return (base) => {
    const url = publicUrl ?? (base || "..")
    if (last?.url !== url) last = { url, rendered: render(url) }
    return last.rendered
  }
}

export const makeDocsEndpoints = Effect.fnUntraced(function* (docs: DocsOption, publicUrl: string | undefined) {
  if (docs === false) return []
  const { authenticate } = yield* Authenticator
  const describeAt = makeDescription(publicUrl)
  const respond = (asked: TransportRequest) =>
    Effect.map(RequestContext, ({ basePath: base }) => respondCacheable(asked, describeAt(base)))

  const openApi: RouteHandler = respond
  const protectedOpenApi: RouteHandler = (asked) =>
    Effect.map(Effect.andThen(toProblems(authenticate(asked)), respond(asked)), (answer) => ({
      ...answer,
      headers: { ...answer.headers, "cache-control": "private, no-cache" }
    }))
  const page: RouteHandler = (asked) => Effect.sync(() => respondCacheable(asked, docsPage))

  return [
    ["GET", openApiPath, docs === "protected" ? protectedOpenApi : openApi],
    ["GET", docsPath, page]
  ] as const
})
