/** Runs on a Node that is too old: the import works, and `createTollgate` says what to install. */
import assert from "node:assert/strict"
import { ConfigurationError, createTollgate } from "@tollgate/core"

await assert.rejects(
  createTollgate({}),
  (error) => error instanceof ConfigurationError && /too old; install Node 22\.19 or later$/.test(error.message)
)
