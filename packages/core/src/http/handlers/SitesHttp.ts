/**
 * Serves what is deployed. It is strangers' code: where it has no origin of its own, browsers are told to keep it in a
 * sandbox.
 */
import { Effect } from "effect"
import { NotFoundProblem } from "../../api/problems.ts"
import { Deployments } from "../../deployments/Deployments.ts"
import { DeploymentNotFound } from "../../deployments/model/DeploymentError.ts"
import { DeploymentConfig } from "../../deployments/ports/DeploymentConfig.ts"
import type { SiteHost } from "../../deployments/ports/SitesUrl.ts"
import { fromWebResponse, type TransportRequest, type TransportResponse } from "../../runtime/Transport.ts"
import type { RouteHandler } from "../compile.ts"
import { RequestContext } from "../RequestContext.ts"
import { RequestId } from "../RequestId.ts"
import { toProblems } from "../toProblems.ts"

/** How often a release may be replaced while it is being opened. */
const maxAttempts = 5

interface SitePath {
  readonly name: string
  readonly path: string | undefined
  /** Whether the site has no host of its own. */
  readonly isSandboxed: boolean
}

/** Which file of which deployment a request is for. */
const parseSitePath = (site: SiteHost | undefined, base: string, pathname: string): SitePath => {
  // A site begins at the root of its host, wherever the host application has mounted the API.
  if (site?.kind === "own") return { name: site.name, path: base + pathname, isSandboxed: false }
  const [, name = "", path] = /^\/sites\/([^/]*)(\/.*)?$/.exec(pathname) ?? []
  return { name, path, isSandboxed: site === undefined }
}

const toTransportResponse = (response: Response, sandbox: boolean): TransportResponse => {
  const { status, headers, body } = fromWebResponse(response)
  const confined = sandbox ? { "content-security-policy": "sandbox" } : {}
  return { status, headers: { "cache-control": "no-cache", ...headers, ...confined }, body }
}

const notFound = Effect.fnUntraced(function* (path: string) {
  return yield* new NotFoundProblem({ detail: `There is nothing at ${path}`, instance: yield* RequestId })
})

const noResponse = Effect.succeed(undefined)

/** Answers for what is deployed; nothing, where the target does not serve it. */
export const SitesHttp = Effect.gen(function* () {
  const hosting = yield* DeploymentConfig
  if (hosting?.target.serve === undefined) return undefined
  const deployments = yield* Deployments

  const respond = Effect.fnUntraced(function* ({ headers, basePath: base = "" }: TransportRequest, request: Request) {
    const site = hosting.sites?.siteAt(headers["host"] ?? "")
    const { name, path, isSandboxed } = parseSitePath(site, base, new URL(request.url).pathname)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const release = yield* deployments.served(name)
      if (path === undefined) {
        // Relative, since only the browser knows where the interface is mounted.
        const location = `./${name}/${new URL(request.url).search}`
        return { status: 308, headers: { location }, body: undefined } satisfies TransportResponse
      }
      const response = yield* hosting.target.serve?.(release, path, request) ?? noResponse
      const isNothing = response?.status === 404 && !response.headers.has("content-type")
      if (isNothing) return yield* new DeploymentNotFound({ deployment: name })
      if (response !== undefined) return toTransportResponse(response, isSandboxed)
    }
    return yield* new DeploymentNotFound({ deployment: name })
  })

  const endpoint: RouteHandler = (asked) =>
    toProblems(respond(asked, asked.toWebRequest())).pipe(
      Effect.catchTag("DeploymentNotFoundProblem", () => Effect.flatMap(RequestContext, ({ path }) => notFound(path)))
    )
  return endpoint
})
