/**
 * Benchmarks of the HTTP API, compared with a constant response from the same server.
 */
import { account } from "./keys.ts"
import type { Comparison, Effort } from "./measure.ts"
import type { Row } from "./report.ts"
import { compareRequests, withServerProcess } from "./serverLoad.ts"

const targets = { Express: 0.5, Koa: 0.4, "node:http": 0.35 } as const

type Framework = keyof typeof targets

const authorization = () => "Bearer a-token-of-the-benchmarks"

/** Measures one framework in a separate server process. */
const measureFramework = (framework: Framework, effort: Effort): Promise<ReadonlyArray<Row>> =>
  withServerProcess<{ readonly ports: Record<Framework, number>; readonly key: string }, ReadonlyArray<Row>>(
    new URL("./http.worker.ts", import.meta.url),
    undefined,
    async ({ child, ready: { ports, key } }) => {
      const prefix = `/v1/accounts/${account}/key-buckets/b`
      const requests = [
        {
          name: "GET a consumer",
          target: targets[framework],
          request: { method: "GET", path: `${prefix}/consumers/alice`, authorization }
        },
        {
          name: "verify a key",
          request: { method: "POST", path: `${prefix}/$verify`, body: JSON.stringify({ key }), authorization }
        }
      ]
      const comparisons = await compareRequests(
        child,
        ports[framework],
        requests.map(({ request }) => request),
        { method: "GET", path: "/constant", authorization },
        effort
      )
      return requests.map(({ name, target }, index) => ({
        name: `${name} over HTTP, ${framework}`,
        comparedWith: "constant JSON from the same server",
        ...(target === undefined ? {} : { target }),
        ...(comparisons[index] as Comparison)
      }))
    }
  )

export const measureHttp = async (effort: Effort): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const framework of Object.keys(targets) as Array<Framework>)
    rows.push(...(await measureFramework(framework, effort)))
  return rows
}
