/**
 * Sends requests to a server in a child process and compares routes by the CPU time that the server needs, so that the
 * speed of the client does not matter.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { type Comparison, type Effort, toSpread } from "./measure.ts"
import { sendRequests } from "./rawClient.ts"

/** More than a server handles in one turn of its event loop, so that it never waits for the client. */
const connections = 64
/** A long-running server runs optimized code. */
const warmUpRequests = 10_000
/** Of those that are large. */
const minRequests = 4
const cpuTimeRequest = "cpu time"

export interface BenchmarkRequest {
  readonly method: string
  readonly path: string
  /** A function makes a body for each request. */
  readonly body?: string | (() => string)
  readonly contentType?: string
  /** How many of what is compared a request has. */
  readonly size?: number
  /** The value of `Authorization`, for the n-th request. */
  readonly authorization: (index: number) => string
}

export interface ServerProcess<Ready> {
  /** What the process sent when it was ready. */
  readonly ready: Ready
  readonly child: ChildProcess
}

/** Starts a process with a server, runs `use`, and ends the process. */
export const withServerProcess = async <Ready, A>(
  file: URL,
  task: unknown,
  use: (server: ServerProcess<Ready>) => Promise<A>
): Promise<A> => {
  const child = fork(file, { execArgv: ["--conditions=@tollgate/source"] })
  try {
    child.send(task ?? {})
    const [ready] = (await once(child, "message")) as [Ready]
    return await use({ ready, child })
  } finally {
    child.kill("SIGKILL")
  }
}

/** In the server process: reports the CPU time that the process has used, whenever it is asked. */
export const reportCpuTime = (): void => {
  process.on("message", (message) => {
    if (message !== cpuTimeRequest) return
    const { user, system } = process.cpuUsage()
    process.send?.((user + system) / 1e6)
  })
}

const getCpuSeconds = async (child: ChildProcess): Promise<number> => {
  child.send(cpuTimeRequest)
  const [seconds] = await once(child, "message")
  return seconds
}

const toMessages =
  ({ method, path, body = "", contentType = "application/json", authorization }: BenchmarkRequest) =>
  (index: number): string => {
    const content = typeof body === "string" ? body : body()
    return [
      `${method} ${path} HTTP/1.1`,
      "host: localhost",
      `authorization: ${authorization(index)}`,
      ...(content === "" ? [] : [`content-type: ${contentType}`, `content-length: ${content.length}`]),
      "",
      content
    ].join("\r\n")
  }

/** Compares each request with `baseline`, in requests, or what they have, per second of the server's CPU time. */
export const compareRequests = async (
  child: ChildProcess,
  port: number,
  requests: ReadonlyArray<BenchmarkRequest>,
  baseline: BenchmarkRequest,
  { rounds, milliseconds }: Effort
): Promise<ReadonlyArray<Comparison>> => {
  const all = [baseline, ...requests]
  const times = Math.max(200, milliseconds * 4)
  const send = (request: BenchmarkRequest, times: number) => sendRequests(port, connections, times, toMessages(request))
  const measureRate = async (request: BenchmarkRequest): Promise<number> => {
    const { size = 1 } = request
    const requests = Math.max(minRequests, Math.round(times / size))
    const before = await getCpuSeconds(child)
    await send(request, requests)
    return (requests * size) / ((await getCpuSeconds(child)) - before)
  }
  const warmUp = Math.min(warmUpRequests, 200 * milliseconds)
  for (const request of all) await send(request, Math.max(minRequests, warmUp / (request.size ?? 1)))
  const rates = all.map((): Array<number> => [])
  for (let round = 0; round < rounds; round++) {
    // Alternate the order, because the position within a round may affect the result.
    const order = [...all.keys()]
    if (round % 2 === 1) order.reverse()
    for (const index of order) rates[index]?.push(await measureRate(all[index] as BenchmarkRequest))
  }
  const [baselineRates = [], ...ours] = rates
  return ours.map((rates) => ({
    ours: toSpread(rates).median,
    baseline: toSpread(baselineRates).median,
    ratio: toSpread(rates.map((rate, round) => rate / (baselineRates[round] ?? Number.NaN)))
  }))
}
