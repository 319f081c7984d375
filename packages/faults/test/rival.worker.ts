import { createTollgate } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { worker } from "@tollgate/testing"
import { compete, type Stakes } from "./rivals.ts"

export interface RivalInput extends Stakes {
  readonly store: "SQLite" | "Redis"
  readonly at: string
  readonly secret: string
}

/** One rival in a process of its own, and the shares of the quota that it was told of. */
worker(async ({ store, at, secret, ...stakes }: RivalInput) => {
  const told: Array<number> = []
  const opened = store === "SQLite" ? await SqliteStore.open(at) : await RedisStore.open(at)
  const gate = await createTollgate({
    store: opened,
    secret,
    onQuotaThreshold: ({ threshold }) => void told.push(threshold)
  })
  const result = await compete(gate, stakes)
  await gate.close()
  await opened.close()
  return { ...result, told }
})
