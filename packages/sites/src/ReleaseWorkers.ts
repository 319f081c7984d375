/**
 * Does the work over untrusted content in worker threads, with limits on time and memory. A worker that exceeds them, or
 * crashes, is terminated and fails the work at once; the event loop of the server is never held.
 */
import { extname } from "node:path"
import { MessageChannel, Worker } from "node:worker_threads"
import { InvalidArchiveError, type UnpackLimits } from "./limits.ts"
import { SourceSender } from "./SourceSender.ts"
import type { Unpacked } from "./unpack.ts"
import type { WorkerMessage, WorkerRequest, WorkerTask } from "./workerMessages.ts"

/** `.ts` beside the sources, `.js` in the package. */
const workerUrl = new URL(`./release.worker${extname(import.meta.url)}`, import.meta.url)

/** How long a worker without work is kept: the next deployment starts faster. */
const idleMs = 10_000

/** How a task ends without harm to its worker, which can be used again. */
type Outcome = Extract<WorkerMessage, { readonly type: "done" | "rejected" }>

interface RunOptions {
  readonly source?: AsyncIterable<Uint8Array> | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

/** Not all of them: Node has listeners of its own on a worker. */
const removeListeners = (worker: Worker): void => {
  worker.removeAllListeners("error").removeAllListeners("exit")
}

export class ReleaseWorkers {
  readonly #limits: UnpackLimits
  readonly #idle = new Map<Worker, NodeJS.Timeout>()

  constructor(limits: UnpackLimits) {
    this.#limits = limits
  }

  /** Unpacks a gzip tar into a folder that exists and is empty. */
  async unpack(source: AsyncIterable<Uint8Array>, folder: string, signal: AbortSignal): Promise<Unpacked> {
    const limits = this.#limits
    const options = { source, signal, timeoutMs: limits.timeoutMs }
    return (await this.#perform({ type: "unpack", folder, limits }, options)) as Unpacked
  }

  /** Reads the files that a release will serve, and gives its manifest. */
  async describe(folder: string, root: string, signal: AbortSignal): Promise<Buffer> {
    const limits = this.#limits
    const options = { signal, timeoutMs: limits.timeoutMs }
    return Buffer.from((await this.#perform({ type: "describe", folder, root, limits }, options)) as Uint8Array)
  }

  /** Removes a folder with all that is in it; nothing if it is not there. */
  async remove(folder: string): Promise<void> {
    await this.#perform({ type: "remove", folder }, {})
  }

  /** What a task gives; fails with Rejected where the content is refused. */
  async #perform(task: WorkerTask, options: RunOptions): Promise<unknown> {
    const outcome = await this.#run(task, options)
    if (outcome.type === "rejected") throw new InvalidArchiveError(outcome.reason)
    return outcome.result
  }

  async #run(task: WorkerTask, { source, signal, timeoutMs }: RunOptions): Promise<Outcome> {
    signal?.throwIfAborted()
    const worker = this.#take()
    const { port1: port, port2 } = new MessageChannel()
    const sender = source && new SourceSender(port, source)
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    const abort = () => reject(signal?.reason)
    signal?.addEventListener("abort", abort)
    const timeout = () => reject(new InvalidArchiveError(`it takes longer than the ${timeoutMs} ms allowed`))
    const timer = timeoutMs === undefined ? undefined : setTimeout(timeout, timeoutMs)
    worker.on("error", (error) => reject(this.#explainCrash(error)))
    worker.on("exit", (code) => reject(new Error(`A worker thread exited early, with ${code}`)))
    port.on("message", (message: WorkerMessage) => {
      if (message.type === "open") sender?.open()
      else if (message.type === "pull") sender?.send().catch(reject)
      else if (message.type === "failed") reject(message.error)
      else resolve(message)
    })
    worker.postMessage({ task, port: port2 } satisfies WorkerRequest, [port2])
    try {
      const outcome = await promise
      this.#keep(worker)
      return outcome
    } catch (error) {
      // It writes nothing more once this has ended, so that what it wrote can be removed.
      await worker.terminate()
      throw error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener("abort", abort)
      sender?.close()
      port.close()
    }
  }

  #explainCrash(error: unknown): unknown {
    const { memoryMb } = this.#limits
    return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"
      ? new InvalidArchiveError(`it takes more than the ${memoryMb} MiB of memory allowed`)
      : error
  }

  #take(): Worker {
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer)
      this.#idle.delete(worker)
      removeListeners(worker)
      worker.ref()
      return worker
    }
    const resourceLimits = { maxOldGenerationSizeMb: this.#limits.memoryMb, maxYoungGenerationSizeMb: 4 }
    // Nothing of the host's environment or options: the worker needs none of it.
    return new Worker(workerUrl, { env: {}, execArgv: [], resourceLimits })
  }

  #keep(worker: Worker): void {
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
