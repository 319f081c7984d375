/**
 * Measures new processes on the built packages: until `@tollgate/core` is imported, and until the first key is verified
 * on a SQLite file with many keys. An empty process shows how much of it is Node's own.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { SqliteStore } from "@tollgate/sqlite"
import { account, load, secret } from "./keys.ts"
import { limits } from "./limits.ts"
import { type Spread, toSpread } from "./measure.ts"
import type { Resources } from "./resources.ts"

export interface StartRow {
  readonly name: string
  /** From the start of the process. */
  readonly milliseconds: Spread
  /** The processor time of the process: other work on the machine changes it less. */
  readonly cpuMilliseconds: Spread
  /** The resident memory at the end. */
  readonly mebibytes: number
  readonly limit?: number
}

interface Start {
  readonly name: string
  readonly limit?: number
  readonly args: ReadonlyArray<string>
}

type Run = Awaited<ReturnType<typeof runOnce>>

/** Runs the worker on the built packages. */
const runOnce = async (args: ReadonlyArray<string>) => {
  const start = performance.now()
  const child = fork(new URL("./startup.worker.js", import.meta.url), args, { execArgv: [] })
  const [{ bytes, cpuMilliseconds }] = (await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`startup.worker.js exited with ${code}`)))
  ])) as [{ readonly bytes: number; readonly cpuMilliseconds: number }]
  const milliseconds = performance.now() - start
  child.kill("SIGKILL")
  return { milliseconds, cpuMilliseconds, mebibytes: bytes / 1024 / 1024 }
}

export const measureStartup = async (
  { folder }: Resources,
  keys: number,
  rounds: number
): Promise<ReadonlyArray<StartRow>> => {
  const path = join(folder, "startup.db")
  const store = await SqliteStore.open(path, { durability: "normal" })
  const { gate, keyBucket, values } = await load(store, keys)
  await gate.close()
  await store.close()
  const starts: ReadonlyArray<Start> = [
    { name: "an empty process", args: [] },
    { name: "import @tollgate/core", limit: limits.importMilliseconds, args: ["import"] },
    {
      name: `first verified key, SQLite file, ${keys} keys`,
      limit: limits.firstKeyMilliseconds,
      args: ["verify", path, secret, account, keyBucket.bucketName, values[0] ?? ""]
    }
  ]
  const runs = starts.map((): Array<Run> => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, { args }] of starts.entries()) runs[index]?.push(await runOnce(args))
  return starts.map(({ args: _, ...start }, index) => {
    const spread = (field: keyof Run) => toSpread((runs[index] ?? []).map((run) => run[field]))
    return {
      ...start,
      milliseconds: spread("milliseconds"),
      cpuMilliseconds: spread("cpuMilliseconds"),
      mebibytes: spread("mebibytes").median
    }
  })
}
