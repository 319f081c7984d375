/**
 * Processes untrusted content in worker threads with limits on time and memory, so that it never blocks the server's
 * event loop. A worker that exceeds a limit or crashes is terminated, and its task fails immediately.
 */
import { extname } from "node:path"
import { MessageChannel, Worker } from "node:worker_threads"
import { ReleaseRejectedError, type UnpackLimits } from "./limits.ts"
import { SourceSender } from "./SourceSender.ts"
import type { UnpackResult } from "./unpack.ts"
import type { WorkerMessage, WorkerRequest, WorkerTask } from "./workerMessages.ts"

/** `.ts` when running from the sources, `.js` in the published package. */
const workerUrl = new URL(`./release.worker${extname(import.meta.url)}`, import.meta.url)

/** How long an idle worker is kept, so that the next deployment starts faster. */
const idleMs = 10_000

/** The outcomes after which a worker can be reused. */
type Outcome = Extract<WorkerMessage, { readonly type: "done" | "rejected" }>

interface RunOptions {
  readonly source?: AsyncIterable<Uint8Array> | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

/** Removes the listeners of these two events, all added here. Node itself listens to other events of a worker. */
const removeListeners = (worker: Worker): void => {
  worker.removeAllListeners("error").removeAllListeners("exit")
}

export class ReleaseWorkers {
  readonly #limits: UnpackLimits
  readonly #idle = new Map<Worker, NodeJS.Timeout>()

  constructor(limits: UnpackLimits) {
    this.#limits = limits
  }

  /** Unpacks a gzipped tar archive into an existing empty folder. */
  async unpack(
    source: AsyncIterable<Uint8Array>,
    folder: string,
    signal: AbortSignal,
    archiveBytes?: number
  ): Promise<UnpackResult> {
    const limits = this.#limits
    const options = { source, signal, timeoutMs: limits.timeoutMs }
    return (await this.#runTask({ type: "unpack", folder, limits, archiveBytes }, options)) as UnpackResult
  }

  /** Reads the files that a release will serve, stores them by digest, and returns the encoded manifest. */
  async makeManifest(
    folder: string,
    root: string,
    earlier: ReadonlyArray<string>,
    signal: AbortSignal
  ): Promise<Buffer> {
    const limits = this.#limits
    const options = { signal, timeoutMs: limits.timeoutMs }
    const task = { type: "makeManifest", folder, root, earlier, limits } as const
    return Buffer.from((await this.#runTask(task, options)) as Uint8Array)
  }

  /** Returns what releases occupy on the disk. */
  async measure(folders: ReadonlyArray<string>): Promise<ReadonlyArray<number>> {
    return (await this.#runTask({ type: "measure", folders }, {})) as ReadonlyArray<number>
  }

  /** Whether a release has all its files. */
  async isWhole(folder: string): Promise<boolean> {
    return (await this.#runTask({ type: "isWhole", folder }, {})) as boolean
  }

  /** Removes a folder and its contents. Does nothing if it does not exist. */
  async remove(folder: string): Promise<void> {
    await this.#runTask({ type: "remove", folder }, {})
  }

  /** Runs a task and returns its result. Throws `ReleaseRejectedError` if the content is rejected. */
  async #runTask(task: WorkerTask, options: RunOptions): Promise<unknown> {
    const outcome = await this.#runInWorker(task, options)
    if (outcome.type === "rejected") throw new ReleaseRejectedError(outcome.reason)
    return outcome.result
  }

  async #runInWorker(task: WorkerTask, { source, signal, timeoutMs }: RunOptions): Promise<Outcome> {
    signal?.throwIfAborted()
    const worker = this.#acquireWorker()
    const { port1: port, port2 } = new MessageChannel()
    const sender = source && new SourceSender(port, source)
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    const abort = () => reject(signal?.reason)
    signal?.addEventListener("abort", abort)
    const timeout = () => reject(new ReleaseRejectedError(`Processing takes longer than the limit of ${timeoutMs} ms`))
    const timer = timeoutMs === undefined ? undefined : setTimeout(timeout, timeoutMs)
    worker.on("error", (error) => reject(this.#toTaskError(error)))
    worker.on("exit", (code) => reject(new Error(`A worker thread exited unexpectedly with code ${code}`)))
    port.on("message", (message: WorkerMessage) => {
      if (message.type === "open") sender?.open()
      else if (message.type === "pull") sender?.send().catch(reject)
      else if (message.type === "failed") reject(message.error)
      else resolve(message)
    })
    worker.postMessage({ task, port: port2 } satisfies WorkerRequest, [port2])
    try {
      const outcome = await promise
      this.#releaseWorker(worker)
      return outcome
    } catch (error) {
      // Waits until the worker has stopped writing, so that its files can be removed.
      await worker.terminate()
      throw error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener("abort", abort)
      sender?.close()
      port.close()
    }
  }

  #toTaskError(error: unknown): unknown {
    const { memoryMb } = this.#limits
    return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"
      ? new ReleaseRejectedError(`Processing takes more than the limit of ${memoryMb} MiB of memory`)
      : error
  }

  #acquireWorker(): Worker {
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer)
      this.#idle.delete(worker)
      removeListeners(worker)
      worker.ref()
      return worker
    }
    const resourceLimits = { maxOldGenerationSizeMb: this.#limits.memoryMb, maxYoungGenerationSizeMb: 4 }
    // The worker needs neither the environment nor the Node options of the server.
    return new Worker(workerUrl, { env: {}, execArgv: [], resourceLimits })
  }

  #releaseWorker(worker: Worker): void {
    const drop = () => {
      clearTimeout(this.#idle.get(worker))
      this.#idle.delete(worker)
      void worker.terminate()
    }
    removeListeners(worker)
    worker.on("error", drop)
    worker.on("exit", drop)
    worker.unref()
    this.#idle.set(worker, setTimeout(drop, idleMs).unref())
  }
}
