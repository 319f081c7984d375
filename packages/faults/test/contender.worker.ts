import { createTollgate } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { runAsWorker } from "@tollgate/testing"
import { type ContentionInput, compete } from "./contention.ts"

export interface ContenderInput extends ContentionInput {
  readonly store: "SQLite" | "Redis"
  /** A file path or a Redis URL. */
  readonly location: string
  readonly secret: string
}

/** Runs one contender in its own process, and returns the quota thresholds that it was notified of. */
runAsWorker(async ({ store: kind, location, secret, ...input }: ContenderInput) => {
  const thresholds: Array<number> = []
  const store = kind === "SQLite" ? await SqliteStore.open(location) : await RedisStore.open(location)
  const gate = await createTollgate({
    store,
    secret,
    onQuotaThreshold: ({ threshold }) => void thresholds.push(threshold)
  })
  const result = await compete(gate, input)
  await gate.close()
  await store.close()
  return { ...result, thresholds }
})
