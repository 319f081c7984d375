/**
 * Which paths there are, and with which methods they can be asked, from the interface's own declaration.
 */
import { HttpApi } from "effect/http-api"
import type { SiteHost } from "../deployments/ports/SitesUrl.ts"
import { Api } from "./Api.ts"

export const openApiPath = "/v1/openapi.json"
export const docsPath = "/v1/docs"
export const sitesPath = "/sites/*"

type Route = readonly [pattern: string, method: string]

const docsRoutes: ReadonlyArray<Route> = [
  ["/v1/openapi\\.json", "GET"],
  ["/v1/docs", "GET"]
]
const sitesRoutes: ReadonlyArray<Route> = [["/sites/.+", "GET"]]

const declaredRoutes: Array<Route> = []
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) => {
    declaredRoutes.push([endpoint.path.replace(/[$.]/g, "\\$&").replace(/:[A-Za-z]+/g, "[^/]+"), endpoint.method])
  }
})

/** Whatever can be got can be asked for its head. */
const withHead = (method: string): ReadonlyArray<string> => (method === "GET" ? ["GET", "HEAD"] : [method])

export interface Routes {
  /** Whether a path is one of the interface's, whatever the method. */
  readonly matchesRoute: (path: string) => boolean
  readonly allowedMethods: (path: string) => ReadonlyArray<string>
}

/** The routes of one gate: those that every gate has, and those that its options turn on. */
export const makeRoutes = (enabled: { readonly docs: boolean; readonly sites: boolean }): Routes => {
  const routes = [...(enabled.docs ? docsRoutes : []), ...(enabled.sites ? sitesRoutes : []), ...declaredRoutes]
  const routePatterns = routes.map(([pattern, method]) => [new RegExp(`^${pattern}$`), method] as const)
  const anyRoute = new RegExp(`^(?:${routes.map(([pattern]) => pattern).join("|")})$`)
  return {
    matchesRoute: (path) => anyRoute.test(path),
    allowedMethods: (path) => [
      ...new Set(routePatterns.filter(([pattern]) => pattern.test(path)).flatMap(([, method]) => withHead(method)))
    ]
  }
}

/** Which methods a path has on a host that serves sites and nothing else. */
export const methodsOnSitesHost = (site: SiteHost, path: string): ReadonlyArray<string> =>
  site.kind === "own" || path.startsWith("/sites/") ? ["GET", "HEAD"] : []
