/**
 * Benchmarks of protected routes, compared with the same route without protection.
 */
import type { Effort } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"
import type { RoutesTask } from "./routes.worker.ts"
import { compareRequests, withServerProcess } from "./serverLoad.ts"

const protections = [
  { path: "/key", name: "an API key" },
  { path: "/limit", name: "an API key and a rate limit" },
  { path: "/meter", name: "an API key, a rate limit and a meter" }
] as const

type Path = (typeof protections)[number]["path"]

const memoryTargets: Partial<Record<Path, number>> = { "/key": 0.75, "/meter": 0.65 }
const sqliteTargets: Partial<Record<Path, number>> = { "/key": 0.65, "/meter": 0.5 }

const getTarget = (framework: string, storeName: string, path: Path): number | undefined => {
  if (framework === "node:http") return undefined
  if (storeName === "memory") return memoryTargets[path]
  return storeName === "SQLite file" ? sqliteTargets[path] : undefined
}

const makeMeasurement =
  (framework: RoutesTask["framework"], storeName: string) =>
  (resources: Resources, effort: Effort): Promise<ReadonlyArray<Row>> =>
    withServerProcess<{ readonly port: number; readonly keys: ReadonlyArray<string> }, ReadonlyArray<Row>>(
      new URL("./routes.worker.ts", import.meta.url),
      { framework, storeName, resources } satisfies RoutesTask,
      async ({ child, ready: { port, keys } }) => {
        const authorization = (index: number) => `Bearer ${keys[index % keys.length]}`
        const toRequest = (path: string) => ({ method: "GET", path, authorization })
        const comparisons = await compareRequests(
          child,
          port,
          protections.map(({ path }) => toRequest(path)),
          toRequest("/open"),
          effort
        )
        return comparisons.map((comparison, index) => {
          const { path, name } = protections[index] as (typeof protections)[number]
          const target = getTarget(framework, storeName, path)
          return {
            name: `a route with ${name}, ${framework}, ${storeName}`,
            comparedWith: "the same route without protection",
            ...(target === undefined ? {} : { target }),
            ...comparison
          }
        })
      }
    )

const frameworks = ["Express", "Koa", "node:http"] as const
const storeNames = ["memory", "SQLite file", "Redis", "Postgres"] as const

/** By name, such as `routes, Express, memory`. */
export const routeScenarios = Object.fromEntries(
  storeNames.flatMap((storeName) =>
    frameworks.map(
      (framework) => [`routes, ${framework}, ${storeName}`, makeMeasurement(framework, storeName)] as const
    )
  )
)
