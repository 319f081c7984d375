/**
 * The paths of the HTTP API and the methods that each path allows, derived from the endpoint declarations.
 */
import { sessionFile } from "../console/Console.ts"
import type { SiteHost } from "../deployments/config/SitesUrl.ts"
import { descriptions } from "../operations/AllOperations.ts"

export const openApiPath = "/v1/openapi.json"
export const docsPath = "/v1/docs"
export const metricsPath = "/metrics"
export const sitesPath = "/sites/*"
export const consolePath = "/console"
export const consoleFilesPath = "/console/*"
export const consoleSessionPath = `/console/${sessionFile}`

type Route = readonly [pattern: string, method: string]

/** The routes that options turn on. */
const optionalRoutes = {
  docs: [
    ["/v1/openapi\\.json", "GET"],
    ["/v1/docs", "GET"]
  ],
  metrics: [["/metrics", "GET"]],
  sites: [["/sites/.+", "GET"]],
  console: [
    ["/console", "GET"],
    [`/console/(?!${sessionFile}$)[\\w./-]+`, "GET"],
    [consoleSessionPath, "POST"]
  ]
} satisfies Readonly<Record<string, ReadonlyArray<Route>>>

export type OptionalRoutes = keyof typeof optionalRoutes

/** The declared paths as regular expressions, in which a parameter such as `:keyId` matches one path segment. */
const declaredRoutes: ReadonlyArray<Route> = descriptions.map(({ path, method }) => [
  path.replace(/[$.]/g, "\\$&").replace(/:[A-Za-z]+/g, "[^/]+"),
  method
])

/** Every GET route also serves HEAD. */
const withHead = (method: string): ReadonlyArray<string> => (method === "GET" ? ["GET", "HEAD"] : [method])

export interface Routes {
  /** Whether a path belongs to the HTTP API, for any method. */
  readonly matchesRoute: (path: string) => boolean
  readonly allowedMethods: (path: string) => ReadonlyArray<string>
}

/** The declared routes, plus the optional ones that are enabled. */
export const makeRoutes = (enabled: Readonly<Record<OptionalRoutes, boolean>>): Routes => {
  const optional = Object.entries(optionalRoutes).filter(([name]) => enabled[name as OptionalRoutes])
  const routes: ReadonlyArray<Route> = [
    ...optional.flatMap(([, routes]): ReadonlyArray<Route> => routes),
    ...declaredRoutes
  ]
  const routePatterns = routes.map(([pattern, method]) => [new RegExp(`^${pattern}$`), method] as const)
  const anyRoute = new RegExp(`^(?:${routes.map(([pattern]) => pattern).join("|")})$`)
  return {
    matchesRoute: (path) => anyRoute.test(path),
    allowedMethods: (path) => [
      ...new Set(routePatterns.filter(([pattern]) => pattern.test(path)).flatMap(([, method]) => withHead(method)))
    ]
  }
}

/** The methods that a path allows on a host that serves sites only. */
export const methodsOnSitesHost = (site: SiteHost, path: string): ReadonlyArray<string> =>
  site.kind === "dedicated" || path.startsWith("/sites/") ? ["GET", "HEAD"] : []
