/**
 * Which paths there are, and with which methods they can be asked, from the interface's own declaration.
 */
import { HttpApi } from "effect/http-api"
import { Api } from "../Api.ts"

export const openApiPath = "/v1/openapi.json"
export const docsPath = "/v1/docs"
export const sitesPath = "/sites/*"

const patterns: Array<readonly [pattern: string, method: string]> = [
  ["/v1/openapi\\.json", "GET"],
  ["/v1/docs", "GET"],
  ["/sites/.+", "GET"]
]

HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) => {
    patterns.push([endpoint.path.replace(/[$.]/g, "\\$&").replace(/:[A-Za-z]+/g, "[^/]+"), endpoint.method])
  }
})

const each = patterns.map(([pattern, method]) => [new RegExp(`^${pattern}$`), method] as const)
const any = new RegExp(`^(?:${patterns.map(([pattern]) => pattern).join("|")})$`)

/** Whether a path is one of the interface's, whatever the method. */
export const isPath = (path: string): boolean => any.test(path)

/** Whatever can be got can be asked for its head. */
const methodsFor = (method: string): ReadonlyArray<string> => (method === "GET" ? ["GET", "HEAD"] : [method])

export const methodsOf = (path: string): ReadonlyArray<string> => [
  ...new Set(each.filter(([pattern]) => pattern.test(path)).flatMap(([, method]) => methodsFor(method)))
]
