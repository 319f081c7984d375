/**
 * Benchmarks of the HTTP API, compared with a constant response from the same server. It measures requests per second of
 * the server's CPU time, so that the speed of the client does not matter.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { account } from "./keys.ts"
import { type Effort, toSpread } from "./measure.ts"
import type { Row } from "./report.ts"

const connections = 16

interface BenchmarkRequest {
  readonly method: string
  readonly path: string
  readonly body?: string
}

/** Sends a request `times` times over keep-alive connections. */
const sendRequests = async (port: number, { method, path, body }: BenchmarkRequest, times: number): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const headers = { authorization: "Bearer a-token-of-the-benchmarks" }
  const send = () =>
    new Promise<void>((resolve, reject) => {
      const clientRequest = request({ port, host: "127.0.0.1", method, path, headers, agent }, (res) => {
        if (res.statusCode !== 200) reject(new Error(`${path} responded with ${res.statusCode}`))
        res.resume().once("end", resolve)
      })
      clientRequest.once("error", reject).end(body)
    })
  let remaining = times
  const worker = async () => {
    while (remaining-- > 0) await send()
  }
  await Promise.all(Array.from({ length: connections }, worker))
  agent.destroy()
}

const getCpuSeconds = async (child: ChildProcess): Promise<number> => {
  child.send("cpu usage")
  const [seconds] = await once(child, "message")
  return seconds
}

const targets = { Express: 0.5, Koa: 0.3, "node:http": 0.25 } as const

type Framework = keyof typeof targets

/** Measures one framework in a separate server process. */
const measureFramework = async (framework: Framework, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const child = fork(new URL("./http.worker.ts", import.meta.url), { execArgv: ["--conditions=@tollgate/source"] })
  try {
    const [{ ports, key }] = (await once(child, "message")) as [{ ports: Record<Framework, number>; key: string }]
    const times = Math.max(200, effort.milliseconds * 4)
    const warmUp = effort.milliseconds * 50
    const prefix = `/v1/accounts/${account}/key-buckets/b`
    const requests: ReadonlyArray<readonly [string, BenchmarkRequest, number | undefined]> = [
      ["GET a consumer", { method: "GET", path: `${prefix}/consumers/alice` }, targets[framework]],
      ["verify a key", { method: "POST", path: `${prefix}/$verify`, body: JSON.stringify({ key }) }, undefined]
    ]
    const measureRate = async (request: BenchmarkRequest): Promise<number> => {
      const before = await getCpuSeconds(child)
      await sendRequests(ports[framework], request, times)
      return times / ((await getCpuSeconds(child)) - before)
    }
    const constant = { method: "GET", path: "/constant" }
    const rows: Array<Row> = []
    for (const [name, request, target] of requests) {
      // Warm up first: a long-running server runs optimized code.
      await sendRequests(ports[framework], request, warmUp)
      await sendRequests(ports[framework], constant, warmUp)
      const [ours, baseline]: [Array<number>, Array<number>] = [[], []]
      for (let round = 0; round < effort.rounds; round++) {
        if (round % 2 === 0) ours.push(await measureRate(request))
        baseline.push(await measureRate(constant))
        if (round % 2 === 1) ours.push(await measureRate(request))
      }
      rows.push({
        name: `${name} over HTTP, ${framework}`,
        comparedWith: "constant JSON from the same server",
        ...(target === undefined ? {} : { target }),
        ours: toSpread(ours).median,
        baseline: toSpread(baseline).median,
        ratio: toSpread(ours.map((rate, index) => rate / (baseline[index] ?? Number.NaN)))
      })
    }
    return rows
  } finally {
    child.kill("SIGKILL")
  }
}

export const measureHttp = async (effort: Effort): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const framework of Object.keys(targets) as Array<Framework>)
    rows.push(...(await measureFramework(framework, effort)))
  return rows
}
