/**
 * All scenarios. Each runs in a separate process, because the JIT compiler would otherwise optimize for the stores and the
 * call patterns of other scenarios.
 */
import { fork } from "node:child_process"
import { consumeOnRedis, verifyAndConsumeOnSqlite } from "./consume.ts"
import { createKeyOnPostgres, createKeyOnSqlite } from "./create.ts"
import { decisionLogInMemory, decisionLogOnSqlite } from "./decisionLog.ts"
import { eventsInMemory, eventsOnPostgres, eventsOnRedis, eventsOnSqlite } from "./events.ts"
import { everythingInMemory, everythingOnSqlite } from "./everything.ts"
import { growthInMemory, growthOnPostgres, growthOnRedis, growthOnSqlite } from "./growth.ts"
import { limitersInMemory, limitersOnPostgres, limitersOnRedis, limitersOnSqlite } from "./limiters.ts"
import type { Effort } from "./measure.ts"
import { consumeOnPostgres, verifyOnPostgres } from "./postgres.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"
import { routeScenarios } from "./routes.ts"
import { sitesOnSqlite } from "./sites.ts"
import { telemetryInMemory, telemetryOnSqlite } from "./telemetry.ts"
import { usageInMemory, usageOnPostgres, usageOnRedis, usageOnSqlite } from "./usage.ts"
import { usageEventsInMemory, usageEventsOnPostgres, usageEventsOnRedis, usageEventsOnSqlite } from "./usageEvents.ts"
import { verifyInMemory, verifyOnRedis, verifyOnSqlite } from "./verify.ts"

export interface Task {
  readonly resources: Resources
  readonly keys: number
  /** For the stores that hold many more. */
  readonly manyKeys: number
  readonly effort: Effort
}

type Scenario = (task: Task) => Promise<Row | ReadonlyArray<Row>>

/** By name; `--only text` runs those whose name contains the text. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(
    Object.entries(routeScenarios).map(([name, measure]) => [
      name,
      ({ resources, effort }: Task) => measure(resources, effort)
    ])
  ),
  verifyInMemory: ({ keys, effort }) => verifyInMemory(keys, effort),
  verifyOnSqlite: ({ resources, keys, effort }) => verifyOnSqlite(resources, keys, effort),
  verifyOnPostgres: ({ resources, keys, effort }) => verifyOnPostgres(resources, keys, effort),
  verifyOnRedis: ({ resources, keys, effort }) => verifyOnRedis(resources, keys, effort),
  verifyAndConsumeOnSqlite: ({ resources, effort }) => verifyAndConsumeOnSqlite(resources, effort),
  consumeOnPostgres: ({ resources, effort }) => consumeOnPostgres(resources, effort),
  consumeOnRedis: ({ resources, effort }) => consumeOnRedis(resources, effort),
  limitersInMemory: ({ effort }) => limitersInMemory(effort),
  limitersOnSqlite: ({ resources, effort }) => limitersOnSqlite(resources, effort),
  limitersOnPostgres: ({ resources, effort }) => limitersOnPostgres(resources, effort),
  limitersOnRedis: ({ resources, effort }) => limitersOnRedis(resources, effort),
  usageInMemory: ({ effort }) => usageInMemory(effort),
  usageOnSqlite: ({ resources, effort }) => usageOnSqlite(resources, effort),
  usageOnPostgres: ({ resources, effort }) => usageOnPostgres(resources, effort),
  usageOnRedis: ({ resources, effort }) => usageOnRedis(resources, effort),
  createKeyOnSqlite: ({ resources, effort }) => createKeyOnSqlite(resources, effort),
  createKeyOnPostgres: ({ resources, effort }) => createKeyOnPostgres(resources, effort),
  eventsInMemory: ({ effort }) => eventsInMemory(effort),
  eventsOnSqlite: ({ resources, effort }) => eventsOnSqlite(resources, effort),
  eventsOnPostgres: ({ resources, effort }) => eventsOnPostgres(resources, effort),
  eventsOnRedis: ({ resources, effort }) => eventsOnRedis(resources, effort),
  telemetryInMemory: ({ effort }) => telemetryInMemory(effort),
  telemetryOnSqlite: ({ resources, effort }) => telemetryOnSqlite(resources, effort),
  decisionLogInMemory: ({ effort }) => decisionLogInMemory(effort),
  decisionLogOnSqlite: ({ resources, effort }) => decisionLogOnSqlite(resources, effort),
  everythingInMemory: ({ effort }) => everythingInMemory(effort),
  everythingOnSqlite: ({ resources, effort }) => everythingOnSqlite(resources, effort),
  usageEventsInMemory: ({ effort }) => usageEventsInMemory(effort),
  usageEventsOnSqlite: ({ resources, effort }) => usageEventsOnSqlite(resources, effort),
  usageEventsOnPostgres: ({ resources, effort }) => usageEventsOnPostgres(resources, effort),
  usageEventsOnRedis: ({ resources, effort }) => usageEventsOnRedis(resources, effort),
  sitesOnSqlite: ({ resources, effort }) => sitesOnSqlite(resources, effort),
  growthInMemory: ({ keys, effort }) => growthInMemory(keys, effort),
  growthOnSqlite: ({ resources, manyKeys, effort }) => growthOnSqlite(resources, manyKeys, effort),
  growthOnPostgres: ({ resources, keys, effort }) => growthOnPostgres(resources, keys, effort),
  growthOnRedis: ({ resources, manyKeys, effort }) => growthOnRedis(resources, manyKeys, effort)
}

/** Runs a scenario in a child process. */
export const runInChildProcess = (name: string, task: Task): Promise<ReadonlyArray<Row>> =>
  new Promise((resolve, reject) => {
    const child = fork(new URL("./scenario.worker.ts", import.meta.url), {
      execArgv: ["--conditions=@tollgate/source"]
    })
    child.once("message", (rows) => resolve(rows as ReadonlyArray<Row>))
    child.once("exit", (code) => reject(new Error(`${name} exited with ${code} without a result`)))
    child.send({ name, task })
  })
