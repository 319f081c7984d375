/**
 * The worker thread: performs one task after the other. It asks for a source chunk by chunk.
 */
import { once } from "node:events"
import { setPriority } from "node:os"
import { type MessagePort, parentPort } from "node:worker_threads"
import { describeRelease } from "./describeRelease.ts"
import { InvalidArchiveError } from "./limits.ts"
import { removeFolder } from "./removeFolder.ts"
import { unpack } from "./unpack.ts"
import type { WorkerMessage, WorkerRequest, WorkerTask } from "./workerMessages.ts"

/** The source, which can be read more than once. */
const sourceFrom = (port: MessagePort): AsyncIterable<Uint8Array> => ({
  async *[Symbol.asyncIterator]() {
    port.postMessage({ type: "open" } satisfies WorkerMessage)
    for (;;) {
      const received = once(port, "message")
      port.postMessage({ type: "pull" } satisfies WorkerMessage)
      const [chunk] = await received
      if (chunk === undefined) return
      yield chunk
    }
  }
})

const perform = async (port: MessagePort, task: WorkerTask): Promise<unknown> => {
  switch (task.type) {
    case "unpack":
      return unpack(sourceFrom(port), task.folder, task.limits)
    case "describe":
      return describeRelease(task.folder, task.root, task.limits)
    case "remove":
      return removeFolder(task.folder)
  }
}

const toDone = (result: unknown): WorkerMessage => ({ type: "done", result })

const toFailure = (error: unknown): WorkerMessage =>
  error instanceof InvalidArchiveError ? { type: "rejected", reason: error.message } : { type: "failed", error }

if (parentPort !== null) {
  // Requests come first. On Linux this is the priority of the thread alone, elsewhere that of the process.
  if (process.platform === "linux") setPriority(5)
  parentPort.on("message", async ({ task, port }: WorkerRequest) => {
    port.postMessage(await perform(port, task).then(toDone, toFailure))
  })
}
