/**
 * Which methods a path can be asked with, from the interface's own declaration.
 */
import { HttpApi } from "effect/http-api"
import { Api } from "../Api.ts"

const patterns: Array<readonly [pattern: RegExp, method: string]> = [
  [/^\/v1\/openapi\.json$/, "GET"],
  [/^\/v1\/docs$/, "GET"],
  [/^\/sites\/.+$/, "GET"]
]

HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) => {
    const escaped = endpoint.path.replace(/[$.]/g, "\\$&").replace(/:[A-Za-z]+/g, "[^/]+")
    patterns.push([new RegExp(`^${escaped}$`), endpoint.method])
  }
})

export const methodsOf = (path: string): ReadonlyArray<string> => [
  ...new Set(patterns.filter(([pattern]) => pattern.test(path)).map(([, method]) => method))
]
