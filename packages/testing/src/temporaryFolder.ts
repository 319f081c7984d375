import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"

/** Creates a folder. Closing the scope removes it. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "tollgate-"))),
  // Retry, because a child process of a server may still be writing after the server has exited.
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
)
