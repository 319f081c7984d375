/**
 * Finds the route of a request, and the methods that a path allows. The routes are those of the operations, and those
 * beside them.
 */
import { FindMyWay } from "effect/http"
import type { RouteHandler, RouteMatch } from "./buildRoutes.ts"

/** A route beside the endpoints. */
export interface ServedRoute {
  readonly method: string
  /** The path in the form of the router: `/sites/*`. */
  readonly path: string
  /** A regular expression for the paths, if it is not one path. */
  readonly pattern?: string
  readonly handler: RouteHandler
}

/** Hosts that serve nothing but one route: the HTTP API is not reachable there. */
export interface HostRoutes {
  /** Whether the value of a `Host` header is one of the hosts. */
  readonly matches: (host: string) => boolean
  readonly allowedMethods: (host: string, path: string) => ReadonlyArray<string>
  /** The path of the route that serves the hosts. */
  readonly path: string
}

/** A declared path as a regular expression, in which a parameter such as `:keyId` matches one path segment. */
const toPattern = (path: string): string => path.replace(/[$.]/g, "\\$&").replace(/:[A-Za-z]+/g, "[^/]+")

/** The path of a route with its parameters in braces, as in `/v1/accounts/{accountName}`. */
const toRouteName = (path: string): string => path.replace(/:([A-Za-z]+)/g, "{$1}")

interface Route {
  readonly path: string
  readonly name: string
  readonly pattern: RegExp
  readonly handler: RouteHandler
}

interface FoundRoute extends RouteMatch {
  readonly name: string
  readonly handler: RouteHandler
}

export interface Routes {
  readonly find: (method: string, path: string, search: string) => FoundRoute | undefined
  /** Whether a path belongs to the HTTP API, for any method. */
  readonly matches: (path: string) => boolean
  readonly allowedMethods: (path: string) => ReadonlyArray<string>
  /** The route that was declared with a path. */
  readonly declaredAt: (path: string) => Pick<FoundRoute, "name" | "handler"> | undefined
}

export const makeRoutes = (
  operations: ReadonlyArray<readonly [method: string, path: string, handler: RouteHandler]>,
  served: ReadonlyArray<ServedRoute>
): Routes => {
  const router = FindMyWay.make<Route>({
    // The operations decide about a long parameter: its name is invalid, or its item does not exist.
    maxParamLength: Number.MAX_SAFE_INTEGER,
    caseSensitive: true,
    ignoreDuplicateSlashes: false,
    ignoreTrailingSlash: false
  })
  const all: ReadonlyArray<ServedRoute> = [
    ...served,
    ...operations.map(([method, path, handler]) => ({ method, path, handler }))
  ]
  const routes = all.map(({ method, path, pattern = toPattern(path), handler }): Route => {
    const route = { path, name: toRouteName(path), pattern: new RegExp(`^${pattern}$`), handler }
    router.on(method, path as `/${string}`, route)
    return route
  })
  const methods = [...new Set(all.map(({ method }) => method))]

  const findFor = (method: string, path: string, search: string) => {
    const found = router.find(method, search === "" ? path : `${path}?${search}`)
    // The router also decodes the fixed parts of a path. Middleware in front of Tollgate that checks paths may not decode
    // them, so an encoded path could bypass it: nothing is found there.
    return found?.handler.pattern.test(path) === true ? found : undefined
  }

  return {
    find: (method, path, search) => {
      // Every GET route also serves HEAD.
      const found = findFor(method, path, search) ?? (method === "HEAD" ? findFor("GET", path, search) : undefined)
      return found && { ...found.handler, params: found.params, query: found.searchParams }
    },
    matches: (path) => methods.some((method) => findFor(method, path, "") !== undefined),
    allowedMethods: (path) =>
      methods
        .filter((method) => findFor(method, path, "") !== undefined)
        .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])),
    declaredAt: (path) => routes.find((route) => route.path === path)
  }
}
