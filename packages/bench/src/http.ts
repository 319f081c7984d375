/**
 * What the interface costs over HTTP, in the same server that answers a constant: requests in a second of the server's
 * processor time, so that the client's speed plays no part.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { account } from "./keys.ts"
import { type Effort, toSpread } from "./measure.ts"
import type { Row } from "./report.ts"

const connections = 16

interface RequestResult {
  readonly method: string
  readonly path: string
  readonly body?: string
}

/** Asks so many times, over connections that stay open. */
const sendRequests = async (port: number, { method, path, body }: RequestResult, times: number): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const headers = { authorization: "Bearer a-token-of-the-benchmarks" }
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ port, host: "127.0.0.1", method, path, headers, agent }, (res) => {
        if (res.statusCode !== 200) reject(new Error(`${path} was answered with ${res.statusCode}`))
        res.resume().once("end", resolve)
      })
      sent.once("error", reject).end(body)
    })
  let left = times
  const worker = async () => {
    while (left-- > 0) await one()
  }
  await Promise.all(Array.from({ length: connections }, worker))
  agent.destroy()
}

const processorTime = async (child: ChildProcess): Promise<number> => {
  child.send("how long?")
  const [seconds] = await once(child, "message")
  return seconds
}

const bars = { Express: 0.5, Koa: 0.3, "node:http": 0.25 } as const

type Framework = keyof typeof bars

/** One framework, in a server of its own. */
const inFramework = async (framework: Framework, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const child = fork(new URL("./http.worker.ts", import.meta.url), { execArgv: ["--conditions=source"] })
  try {
    const [{ ports, key }] = (await once(child, "message")) as [{ ports: Record<Framework, number>; key: string }]
    const times = Math.max(200, effort.milliseconds * 4)
    const warmUp = effort.milliseconds * 50
    const prefix = `/v1/accounts/${account}/key-buckets/b`
    const works: ReadonlyArray<readonly [string, RequestResult, number | undefined]> = [
      ["GET a consumer", { method: "GET", path: `${prefix}/consumers/alice` }, bars[framework]],
      ["verify a key", { method: "POST", path: `${prefix}/$verify`, body: JSON.stringify({ key }) }, undefined]
    ]
    const rate = async (asked: RequestResult): Promise<number> => {
      const before = await processorTime(child)
      await sendRequests(ports[framework], asked, times)
      return times / ((await processorTime(child)) - before)
    }
    const constant = { method: "GET", path: "/constant" }
    const rows: Array<Row> = []
    for (const [name, asked, bar] of works) {
      // A server runs for days: what is measured has been compiled.
      await sendRequests(ports[framework], asked, warmUp)
      await sendRequests(ports[framework], constant, warmUp)
      const [ours, floor]: [Array<number>, Array<number>] = [[], []]
      for (let round = 0; round < effort.rounds; round++) {
        if (round % 2 === 0) ours.push(await rate(asked))
        floor.push(await rate(constant))
        if (round % 2 === 1) ours.push(await rate(asked))
      }
      rows.push({
        work: `${name} over HTTP, ${framework}`,
        against: "a constant JSON from the same server",
        ...(bar === undefined ? {} : { bar }),
        ours: toSpread(ours).median,
        floor: toSpread(floor).median,
        ratio: toSpread(ours.map((rate, index) => rate / (floor[index] ?? Number.NaN)))
      })
    }
    return rows
  } finally {
    child.kill("SIGKILL")
  }
}

export const overHttp = async (effort: Effort): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const framework of Object.keys(bars) as Array<Framework>) rows.push(...(await inFramework(framework, effort)))
  return rows
}
