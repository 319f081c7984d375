/**
 * The entry point of a worker thread. Runs one task at a time, and requests the source from the parent chunk by chunk.
 */
import { once } from "node:events"
import { setPriority } from "node:os"
import { type MessagePort, parentPort } from "node:worker_threads"
import { ReleaseRejectedError } from "./limits.ts"
import { makeManifest } from "./makeManifest.ts"
import { isReleaseWhole, measureReleases } from "./releaseFiles.ts"
import { removeFolder } from "./removeFolder.ts"
import { unpack } from "./unpack.ts"
import type { WorkerMessage, WorkerRequest, WorkerTask } from "./workerMessages.ts"

/** A source that can be iterated more than once. */
const makeSource = (port: MessagePort): AsyncIterable<Uint8Array> => ({
  async *[Symbol.asyncIterator]() {
    port.postMessage({ type: "open" } satisfies WorkerMessage)
    for (;;) {
      const reply = once(port, "message")
      port.postMessage({ type: "pull" } satisfies WorkerMessage)
      const [chunk] = await reply
      if (chunk === undefined) return
      yield chunk
    }
  }
})

const runTask = async (port: MessagePort, task: WorkerTask): Promise<unknown> => {
  switch (task.type) {
    case "unpack":
      return unpack(makeSource(port), task.folder, task.limits, task.archiveBytes)
    case "makeManifest":
      return makeManifest(task.folder, task.root, task.earlier, task.limits)
    case "measure":
      return measureReleases(task.folders)
    case "isWhole":
      return isReleaseWhole(task.folder)
    case "remove":
      return removeFolder(task.folder)
  }
}

const toDoneMessage = (result: unknown): WorkerMessage => ({ type: "done", result })

const toFailureMessage = (error: unknown): WorkerMessage =>
  error instanceof ReleaseRejectedError ? { type: "rejected", reason: error.message } : { type: "failed", error }

if (parentPort !== null) {
  // Lowers the priority below that of the server. Linux only: elsewhere it would apply to the whole process.
  if (process.platform === "linux") setPriority(5)
  parentPort.on("message", async ({ task, port }: WorkerRequest) => {
    port.postMessage(await runTask(port, task).then(toDoneMessage, toFailureMessage))
  })
}
