import type { UnpackLimits } from "./limits.ts"

/** What a worker thread is asked to do. */
export type WorkerTask =
  | { readonly type: "unpack"; readonly folder: string; readonly limits: UnpackLimits }
  | { readonly type: "describe"; readonly folder: string; readonly root: string; readonly limits: UnpackLimits }
  | { readonly type: "remove"; readonly folder: string }

/** What a worker thread says. */
export type WorkerMessage =
  /** Begins the source from its start. */
  | { readonly type: "open" }
  /** Asks for the next chunk of the source, or undefined at its end. */
  | { readonly type: "pull" }
  | { readonly type: "done"; readonly result: unknown }
  | { readonly type: "rejected"; readonly reason: string }
  | { readonly type: "failed"; readonly error: unknown }
