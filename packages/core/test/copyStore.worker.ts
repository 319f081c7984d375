/**
 * Copies a SQLite file into another file, or into a Redis, and is killed half way.
 */

import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { copyStore } from "@tollgate/store/copy"

const [source = "", target = ""] = process.argv.slice(2)
const from = await SqliteStore.open(source)
const to = await (target.endsWith(".db") ? SqliteStore.open(target) : RedisStore.open(target))
await copyStore(from, to, {
  onProgress: ({ records }) => {
    if (records > 1_000) process.kill(process.pid, "SIGKILL")
  }
})
