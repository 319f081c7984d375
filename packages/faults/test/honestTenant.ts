/**
 * What a tenant measures who shares a server with others: its requests, its events and webhooks, and its uploads.
 */
import { setTimeout as delay } from "node:timers/promises"
import { makePageArchive } from "../../sites/test/archives.ts"
import { type Answer, openConnection } from "./hostileConnections.ts"

export interface Sample {
  /** When it began, by `Date.now()`. */
  readonly start: number
  readonly ms: number
  readonly status: number | string
}

export const measureNames = ["protected route", "/healthz", "event", "webhook", "upload"] as const
export type MeasureName = (typeof measureNames)[number]
export type Samples = Readonly<Record<MeasureName, ReadonlyArray<Sample>>>

export interface HonestTenant {
  readonly port: number
  readonly token: string
  readonly key: string
  /** Whether the webhook of an event has arrived. */
  readonly hasReceived: (eventId: string) => boolean
}

/** How long a sample may take before the tenant gives up. */
const patienceMs = 90_000

let sequence = 0

/** Measures until `stop` is called. What has begun then is waited for. */
export const startMeasuring = ({ port, token, key, hasReceived }: HonestTenant) => {
  const samples: Record<MeasureName, Array<Sample>> = {
    "protected route": [],
    "/healthz": [],
    event: [],
    webhook: [],
    upload: []
  }
  let isStopped = false
  const connections: Array<ReturnType<typeof openConnection>> = []
  const connect = () => {
    const connection = openConnection(port)
    connections.push(connection)
    return connection.call
  }

  const add = async (name: MeasureName, started: number, answer: Promise<Answer>): Promise<Answer | undefined> => {
    const outcome = await answer.catch((error) => String(error?.code ?? error))
    const status = typeof outcome === "string" ? outcome : outcome.status
    const ms = performance.now() - started
    samples[name].push({ start: Date.now() - ms, ms, status })
    return typeof outcome === "string" ? undefined : outcome
  }

  const repeat = async (intervalMs: number, measure: () => Promise<unknown>) => {
    while (!isStopped) {
      await measure()
      await delay(intervalMs)
    }
  }

  /** Repeats a check until it returns an answer; gives up at some time. */
  const waitFor = async (started: number, check: () => Promise<Answer | undefined>): Promise<Answer> => {
    while (performance.now() - started < patienceMs) {
      const answer = await check()
      if (answer !== undefined) return answer
      await delay(50)
    }
    return { status: 0, text: "" }
  }

  const measureRequests = (name: MeasureName, path: string, headers: Readonly<Record<string, string>>) => {
    const call = connect()
    return repeat(20, () => add(name, performance.now(), call("GET", path, { headers })))
  }

  const webhooks: Array<Promise<unknown>> = []
  const measureEvents = () => {
    const call = connect()
    return repeat(200, async () => {
      const started = performance.now()
      const body = JSON.stringify({ name: `c${sequence++}` })
      const answer = await call("POST", "/v1/accounts/b/key-buckets/production/consumers", { token, body }).catch(
        (error) => ({ status: 0, text: String(error) })
      )
      if (answer.status !== 200) {
        await add("event", started, Promise.resolve(answer))
        return
      }
      const { id } = JSON.parse(answer.text)
      const event = await add(
        "event",
        started,
        waitFor(started, async () => {
          const page = await call("GET", `/v1/accounts/b/events?limit=1&offset=0&subject=${id}`, { token })
          return page.status !== 200 || JSON.parse(page.text).data.length > 0 ? page : undefined
        })
      )
      const [found] = event?.status === 200 ? JSON.parse(event.text).data : []
      if (found === undefined) return
      const received = waitFor(started, async () => (hasReceived(found.id) ? { status: 200, text: "" } : undefined))
      webhooks.push(add("webhook", started, received))
    })
  }

  const measureUploads = () => {
    const call = connect()
    const deploy = async (started: number): Promise<Answer> => {
      const source = JSON.stringify({ accountName: "b", projectName: "site", branchName: "main" })
      const created = await call("POST", "/v1/deployments/sources", { token, body: source })
      if (created.status !== 200) return created
      const url = new URL(JSON.parse(created.text).uploadUrl)
      const uploaded = await call("PUT", url.pathname + url.search, { body: makePageArchive("hello") })
      if (uploaded.status !== 200) return uploaded
      const id = url.pathname.split("/").at(-1)?.replace(".tar.gz", "")
      return waitFor(started, async () => {
        const path = `/v1/accounts/b/projects/site/deployment-status/${id}`
        const answer = await call("GET", path, { token })
        if (answer.status !== 200) return answer
        const { status } = JSON.parse(answer.text)
        return status === "IN_PROGRESS" ? undefined : { status: status === "SUCCESS" ? 200 : 500, text: answer.text }
      })
    }
    return repeat(1_000, () => {
      const started = performance.now()
      return add("upload", started, deploy(started))
    })
  }

  const running = [
    measureRequests("protected route", "/hello", { authorization: `Bearer ${key}` }),
    measureRequests("/healthz", "/healthz", {}),
    measureEvents(),
    measureUploads()
  ]
  return {
    stop: async (): Promise<Samples> => {
      isStopped = true
      await Promise.all(running)
      await Promise.all(webhooks)
      for (const { close } of connections) close()
      return samples
    }
  }
}

/** The samples that began in this time. */
export const selectBetween = (samples: Samples, start: number, end: number): Samples => {
  const select = (name: MeasureName) => samples[name].filter((sample) => sample.start >= start && sample.start <= end)
  return Object.fromEntries(measureNames.map((name) => [name, select(name)])) as Record<MeasureName, Array<Sample>>
}

/** The smallest time that so many of the samples do not exceed. */
export const percentile = (samples: ReadonlyArray<Sample>, share: number): number =>
  samples.map(({ ms }) => ms).toSorted((left, right) => left - right)[Math.ceil(samples.length * share) - 1] ??
  Number.NaN

export const countStatuses = (samples: ReadonlyArray<Sample>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { status } of samples) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
