import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"

/** A new folder that goes with the scope. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "tollgate-"))),
  // A server's child process may still be writing when the server has ended.
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
)
