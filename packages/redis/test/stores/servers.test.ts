/**
 * The contract on other servers than `npm test` has: Redis with the caller's clock, and Valkey.
 */
import { type RedisSource, RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { storeContract } from "@tollgate/store-testkit"
import { ensureValkey, startRedis, startRedisCluster } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { Cluster } from "ioredis"

// The contract has commits of ten thousand changes, which exceed the default timeout on a busy machine.
const layer = (source: RedisSource, options?: RedisStoreOptions) =>
  RedisStore.layer(source, { commandTimeout: 30_000, ...options })

storeContract(
  "Redis with the caller's clock",
  Layer.unwrap(Effect.map(startRedis(), ({ url }) => layer(url, { clock: "caller" })))
)

const program = ensureValkey()

storeContract("Valkey", Layer.unwrap(Effect.map(startRedis({ program }), ({ url }) => layer(url))), { clock: "server" })
storeContract(
  "a Valkey Cluster of three masters",
  Layer.unwrap(
    Effect.gen(function* () {
      const { nodes } = yield* startRedisCluster({ masters: 3, program })
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => new Cluster([...nodes])),
        (client) => Effect.sync(() => client.disconnect())
      )
      return layer(client)
    })
  ),
  { clock: "server" }
)
