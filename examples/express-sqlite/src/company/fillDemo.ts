/**
 * Fills the demo account of a store in a thread in which it is another time. A store in memory has only this process, so it
 * gets a copy of what was filled elsewhere.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { copyStore } from "tollgate/copy"
import { openStore } from "../openStore.ts"
import type { FillData } from "./fill.worker.ts"

const runWorker = async (data: FillData): Promise<void> => {
  const worker = new Worker(new URL("./fill.worker.ts", import.meta.url), { workerData: data })
  await new Promise<void>((resolve, reject) => {
    worker.once("error", reject)
    worker.once("exit", (code) => (code === 0 ? resolve() : reject(new Error("The demo data could not be written"))))
  })
}

/** Fills a store that can be opened twice. */
export const fillDemo = (store: string, secrets: FillData["secrets"]): Promise<void> =>
  runWorker({ store, secrets, end: Date.now() })

/** Fills an empty store in memory. */
export const fillMemory = async (
  store: Awaited<ReturnType<typeof openStore>>,
  secrets: FillData["secrets"]
): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-demo-"))
  try {
    const name = `sqlite:${join(folder, "demo.db")}`
    await fillDemo(name, secrets)
    const from = await openStore(name)
    await copyStore(from, store)
    await from.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
