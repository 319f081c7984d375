/**
 * Opens a store with another file in place of the native addon of better-sqlite3, or without an addon. Returns the
 * message of the error.
 */
import { SqliteStore } from "@tollgate/sqlite"
import { runAsWorker } from "@tollgate/testing"

runAsWorker(async ({ addon }: { readonly addon?: string }) => {
  const load = process.dlopen
  if (addon !== undefined) process.dlopen = (module) => load(module, addon)
  // There is no addon for this architecture.
  else Object.defineProperty(process, "arch", { value: "none" })
  const error = await SqliteStore.open(":memory:").catch((error: unknown) => error)
  return error instanceof Error ? error.message : "the store has opened"
})
