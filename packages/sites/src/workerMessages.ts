import type { MessagePort } from "node:worker_threads"
import type { UnpackLimits } from "./limits.ts"

/** A task for a worker thread. */
export type WorkerTask =
  | {
      readonly type: "unpack"
      readonly folder: string
      readonly limits: UnpackLimits
      readonly archiveBytes: number | undefined
    }
  | {
      readonly type: "makeManifest"
      readonly folder: string
      readonly root: string
      readonly earlier: ReadonlyArray<string>
      readonly limits: UnpackLimits
    }
  | { readonly type: "measure"; readonly folders: ReadonlyArray<string> }
  | { readonly type: "isWhole"; readonly folder: string }
  | { readonly type: "remove"; readonly folder: string }

/** A task, and the port on which the worker thread reports its progress and result. */
export interface WorkerRequest {
  readonly task: WorkerTask
  readonly port: MessagePort
}

/** A message from a worker thread about its task. */
export type WorkerMessage =
  /** Opens the source, or rewinds it. */
  | { readonly type: "open" }
  /** Requests the next chunk of the source. The reply is undefined at the end. */
  | { readonly type: "pull" }
  | { readonly type: "done"; readonly result: unknown }
  | { readonly type: "rejected"; readonly reason: string }
  | { readonly type: "failed"; readonly error: unknown }
