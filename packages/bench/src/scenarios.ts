/**
 * Everything that is compared. Each is done by a process of its own, since a server has one kind of store and is called in
 * one way: what another work has taught the compiler must not count.
 */
import { fork } from "node:child_process"
import {
  consumeAgainstLimiterInMemory,
  consumeAgainstLimiterOnRedis,
  consumeAgainstLimiterOnSqlite,
  consumeOnRedis,
  verifyAndConsumeOnSqlite
} from "./consume.ts"
import { createKeyOnSqlite } from "./create.ts"
import { growthInMemory, growthOnRedis, growthOnSqlite } from "./growth.ts"
import type { Effort } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"
import { verifyInMemory, verifyOnRedis, verifyOnSqlite } from "./verify.ts"

export interface Task {
  readonly where: Resources
  readonly keys: number
  readonly effort: Effort
}

type Scenario = (task: Task) => Promise<Row | ReadonlyArray<Row>>

export const scenarios: ReadonlyArray<Scenario> = [
  ({ keys, effort }) => verifyInMemory(keys, effort),
  ({ where, keys, effort }) => verifyOnSqlite(where, keys, effort),
  ({ where, keys, effort }) => verifyOnRedis(where, keys, effort),
  ({ where, effort }) => verifyAndConsumeOnSqlite(where, effort),
  ({ where, effort }) => consumeOnRedis(where, effort),
  ({ effort }) => consumeAgainstLimiterInMemory(effort),
  ({ where, effort }) => consumeAgainstLimiterOnSqlite(where, effort),
  ({ where, effort }) => consumeAgainstLimiterOnRedis(where, effort),
  ({ where, effort }) => createKeyOnSqlite(where, effort),
  ({ keys, effort }) => growthInMemory(keys, effort),
  ({ where, keys, effort }) => growthOnSqlite(where, keys, effort),
  ({ where, keys, effort }) => growthOnRedis(where, keys, effort)
]

/** Has a work done by a process of its own. */
export const runInChildProcess = (index: number, task: Task): Promise<ReadonlyArray<Row>> =>
  new Promise((resolve, reject) => {
    const child = fork(new URL("./scenario.worker.ts", import.meta.url), { execArgv: ["--conditions=source"] })
    child.once("message", (rows) => resolve(rows as ReadonlyArray<Row>))
    child.once("exit", (code) => reject(new Error(`a work ended with ${code} and without its result`)))
    child.send({ index, task })
  })
