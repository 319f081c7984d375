/**
 * Serves deployed sites. Their content is untrusted: a site without its own origin gets the CSP `sandbox` directive, so that
 * its scripts cannot act on the origin of the HTTP API.
 */
import {
  fromWebResponse,
  type HostRoutes,
  type RouteHandler,
  RouteNotFound,
  type ServedRoute,
  type TransportRequest,
  type TransportResponse
} from "@tollgate/core/module"
import { Effect } from "effect"
import { DeploymentConfig } from "../config/DeploymentConfig.ts"
import type { SiteHost } from "../config/SitesUrl.ts"
import { DeploymentNotFound } from "../model/DeploymentError.ts"
import { Deployments } from "../services/Deployments.ts"

/** A release may be replaced while it is being opened; then the next release is tried. */
const maxAttempts = 5

/**
 * Whether a path has a dot segment (`.` or `..`, also percent-encoded) or a backslash. Parsing the URL would resolve them,
 * so a guard in front of Tollgate has seen another path than the one that would be served. Browsers resolve them first.
 */
const hasDotSegment = (path: string): boolean => path.includes("\\") || /\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)

interface SitePath {
  readonly name: string
  readonly path: string | undefined
  /** Whether the site shares its origin with the HTTP API. */
  readonly isSandboxed: boolean
}

/** Determines the deployment and the file that a request is for. */
const parseSitePath = (site: SiteHost | undefined, basePath: string, pathname: string): SitePath => {
  // A site begins at the root of its host, wherever your application has mounted the API.
  if (site?.kind === "dedicated") return { name: site.name, path: basePath + pathname, isSandboxed: false }
  const [, name = "", path] = /^\/sites\/([^/]*)(\/.*)?$/.exec(pathname) ?? []
  return { name, path, isSandboxed: site === undefined }
}

const toTransportResponse = (response: Response, isSandboxed: boolean): TransportResponse => {
  const { status, headers, body } = fromWebResponse(response)
  const sandboxHeaders = isSandboxed ? { "content-security-policy": "sandbox" } : {}
  return { status, headers: { "cache-control": "no-cache", ...headers, ...sandboxHeaders }, body }
}

const noResponse = Effect.succeed(undefined)

const sitesPath = "/sites/*"

/** `/sites/*`, if the deployment target serves sites. */
export const sitesRoutes = Effect.gen(function* () {
  const config = yield* DeploymentConfig
  if (config?.target.serve === undefined) return []
  const deployments = yield* Deployments

  const respond = Effect.fnUntraced(function* ({ headers, basePath = "" }: TransportRequest, request: Request) {
    const site = config.sites?.matchHost(headers["host"] ?? "")
    const { name, path, isSandboxed } = parseSitePath(site, basePath, new URL(request.url).pathname)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const release = yield* deployments.getServedRelease(name)
      if (path === undefined) {
        // Relative, since only the browser knows where the HTTP API is mounted.
        const location = `./${name}/${new URL(request.url).search}`
        return { status: 308, headers: { location }, body: undefined } satisfies TransportResponse
      }
      const response = yield* config.target.serve?.(release, path, request) ?? noResponse
      const isUnknownFile = response?.status === 404 && !response.headers.has("content-type")
      if (isUnknownFile) return yield* new DeploymentNotFound({ deployment: name })
      if (response !== undefined) return toTransportResponse(response, isSandboxed)
    }
    return yield* new DeploymentNotFound({ deployment: name })
  })

  const endpoint: RouteHandler = (request) =>
    hasDotSegment(request.pathAndQuery.split("?", 1)[0] ?? "")
      ? Effect.fail(new RouteNotFound())
      : Effect.catchTag(respond(request, request.toWebRequest()), "DeploymentNotFound", () =>
          Effect.fail(new RouteNotFound())
        )
  const route: ServedRoute = { method: "GET", path: sitesPath, pattern: "/sites/.+", handler: endpoint }
  return [route]
})

/** The hosts of `sitesUrl`, which serve sites only. */
export const sitesHosts = Effect.map(DeploymentConfig, (config): HostRoutes | undefined => {
  const sites = config?.sites
  if (sites === undefined) return undefined
  return {
    matches: (host) => sites.matchHost(host) !== undefined,
    allowedMethods: (host, path) =>
      sites.matchHost(host)?.kind === "dedicated" || path.startsWith("/sites/") ? ["GET", "HEAD"] : [],
    path: sitesPath
  }
})
