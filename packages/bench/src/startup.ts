/**
 * Measures the time from process start to the first verified key, and the memory at that point, with many keys in a
 * SQLite file.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { SqliteStore } from "@tollgate/sqlite"
import { load } from "./keys.ts"
import { type Spread, toSpread } from "./measure.ts"
import type { Resources } from "./resources.ts"

export interface Startup {
  readonly keys: number
  readonly milliseconds: Spread
  readonly mebibytes: number
}

export const measureStartup = async ({ folder }: Resources, keys: number, rounds: number): Promise<Startup> => {
  const path = join(folder, "startup.db")
  const store = await SqliteStore.open(path, { durability: "normal" })
  const { gate, keyBucket, values } = await load(store, keys)
  await gate.close()
  await store.close()
  const times: Array<number> = []
  let mebibytes = 0
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    const child = fork(new URL("./startup.worker.ts", import.meta.url), { execArgv: ["--conditions=@tollgate/source"] })
    child.send({ path, bucket: keyBucket.bucketName, key: values[0] })
    const [resident] = (await once(child, "message")) as [number]
    times.push(performance.now() - start)
    mebibytes = resident / 1024 / 1024
    child.kill("SIGKILL")
  }
  return { keys, milliseconds: toSpread(times), mebibytes }
}
