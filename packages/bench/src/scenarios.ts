/**
 * All scenarios. Each runs in a separate process, because the JIT compiler would otherwise optimize for the stores and the
 * call patterns of other scenarios.
 */
import { fork } from "node:child_process"
import { consumeOnRedis, verifyAndConsumeOnSqlite } from "./consume.ts"
import { createKeyOnPostgres, createKeyOnSqlite } from "./create.ts"
import { eventsInMemory, eventsOnPostgres, eventsOnRedis, eventsOnSqlite } from "./events.ts"
import { growthInMemory, growthOnPostgres, growthOnRedis, growthOnSqlite } from "./growth.ts"
import { limitersInMemory, limitersOnPostgres, limitersOnRedis, limitersOnSqlite } from "./limiters.ts"
import type { Effort } from "./measure.ts"
import { consumeOnPostgres, verifyOnPostgres } from "./postgres.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"
import { usageInMemory, usageOnPostgres, usageOnRedis, usageOnSqlite } from "./usage.ts"
import { verifyInMemory, verifyOnRedis, verifyOnSqlite } from "./verify.ts"

export interface Task {
  readonly resources: Resources
  readonly keys: number
  readonly effort: Effort
}

type Scenario = (task: Task) => Promise<Row | ReadonlyArray<Row>>

export const scenarios: ReadonlyArray<Scenario> = [
  ({ keys, effort }) => verifyInMemory(keys, effort),
  ({ resources, keys, effort }) => verifyOnSqlite(resources, keys, effort),
  ({ resources, keys, effort }) => verifyOnPostgres(resources, keys, effort),
  ({ resources, keys, effort }) => verifyOnRedis(resources, keys, effort),
  ({ resources, effort }) => verifyAndConsumeOnSqlite(resources, effort),
  ({ resources, effort }) => consumeOnPostgres(resources, effort),
  ({ resources, effort }) => consumeOnRedis(resources, effort),
  ({ effort }) => limitersInMemory(effort),
  ({ resources, effort }) => limitersOnSqlite(resources, effort),
  ({ resources, effort }) => limitersOnPostgres(resources, effort),
  ({ resources, effort }) => limitersOnRedis(resources, effort),
  ({ effort }) => usageInMemory(effort),
  ({ resources, effort }) => usageOnSqlite(resources, effort),
  ({ resources, effort }) => usageOnPostgres(resources, effort),
  ({ resources, effort }) => usageOnRedis(resources, effort),
  ({ resources, effort }) => createKeyOnSqlite(resources, effort),
  ({ resources, effort }) => createKeyOnPostgres(resources, effort),
  ({ effort }) => eventsInMemory(effort),
  ({ resources, effort }) => eventsOnSqlite(resources, effort),
  ({ resources, effort }) => eventsOnPostgres(resources, effort),
  ({ resources, effort }) => eventsOnRedis(resources, effort),
  ({ keys, effort }) => growthInMemory(keys, effort),
  ({ resources, keys, effort }) => growthOnSqlite(resources, keys, effort),
  ({ resources, keys, effort }) => growthOnPostgres(resources, keys, effort),
  ({ resources, keys, effort }) => growthOnRedis(resources, keys, effort)
]

/** Runs a scenario in a child process. */
export const runInChildProcess = (index: number, task: Task): Promise<ReadonlyArray<Row>> =>
  new Promise((resolve, reject) => {
    const child = fork(new URL("./scenario.worker.ts", import.meta.url), {
      execArgv: ["--conditions=@tollgate/source"]
    })
    child.once("message", (rows) => resolve(rows as ReadonlyArray<Row>))
    child.once("exit", (code) => reject(new Error(`A scenario exited with ${code} without a result`)))
    child.send({ index, task })
  })
