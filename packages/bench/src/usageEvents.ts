/**
 * Batches of events over HTTP, compared with requests that count one use each, by the CPU time of the server: an event, and a
 * record.
 */
import { join } from "node:path"
import { makeUsageEvent } from "./customers.ts"
import { account } from "./keys.ts"
import type { Effort } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"
import { type BenchmarkRequest, compareRequests, withServerProcess } from "./serverLoad.ts"
import type { UsageServer, UsageServerTask } from "./usageEvents.worker.ts"

const batchSize = 1_000
const contentType = "application/cloudevents-batch+json"
const authorization = () => `Bearer ${account}-token-of-the-benchmarks`

let count = 0
/** Events of this size, each once. */
const makeBatch = (size: number) => () =>
  JSON.stringify(Array.from({ length: size }, () => makeUsageEvent(`event-${++count}`, count)))

const measure = (storeName: string, task: UsageServerTask, effort: Effort): Promise<ReadonlyArray<Row>> =>
  withServerProcess<UsageServer, ReadonlyArray<Row>>(
    new URL("./usageEvents.worker.ts", import.meta.url),
    task,
    async ({ child, ready: { port, bucketId } }) => {
      const path = `/v1/metering/${bucketId}/usage`
      const send = (size: number): BenchmarkRequest => ({
        method: "POST",
        path: `${path}/events`,
        body: makeBatch(size),
        contentType,
        size,
        authorization
      })
      const record = { method: "POST", path, authorization, body: () => JSON.stringify(toRecord(++count)) }
      const rows: Array<Row> = []
      for (const [comparedWith, baseline] of [
        ["one event a request", send(1)],
        ["record, one a request", record]
      ] as const) {
        const [comparison] = await compareRequests(child, port, [send(batchSize)], baseline, effort)
        if (comparison === undefined) throw new Error("nothing was measured")
        const name = `events in batches of 1,000 over HTTP, node:http, ${storeName}`
        rows.push({ name, comparedWith, target: 10, ...comparison })
      }
      return rows
    }
  )

const toRecord = (index: number) => {
  const { subject, data } = makeUsageEvent("", index)
  return { customerKey: subject, meters: data.meters }
}

export const usageEventsInMemory = (effort: Effort) => measure("memory", { store: "memory" }, effort)

export const usageEventsOnSqlite = ({ folder }: Resources, effort: Effort) =>
  measure("SQLite file", { store: "sqlite", url: join(folder, "usage-events.db") }, effort)

export const usageEventsOnPostgres = ({ postgres }: Resources, effort: Effort) =>
  measure("Postgres", { store: "postgres", url: postgres }, effort)

export const usageEventsOnRedis = ({ redis }: Resources, effort: Effort) =>
  measure("Redis", { store: "redis", url: redis }, effort)
