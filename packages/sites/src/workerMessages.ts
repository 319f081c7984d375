import type { MessagePort } from "node:worker_threads"
import type { UnpackLimits } from "./limits.ts"

/** What a worker thread is asked to do. */
export type WorkerTask =
  | { readonly type: "unpack"; readonly folder: string; readonly limits: UnpackLimits }
  | { readonly type: "describe"; readonly folder: string; readonly root: string; readonly limits: UnpackLimits }
  | { readonly type: "remove"; readonly folder: string }

/** A task, and the port by which the worker thread speaks of it. */
export interface WorkerRequest {
  readonly task: WorkerTask
  readonly port: MessagePort
}

/** What a worker thread says of its task. */
export type WorkerMessage =
  /** Begins the source from its start. */
  | { readonly type: "open" }
  /** Asks for the next chunk of the source, or undefined at its end. */
  | { readonly type: "pull" }
  | { readonly type: "done"; readonly result: unknown }
  | { readonly type: "rejected"; readonly reason: string }
  | { readonly type: "failed"; readonly error: unknown }
