import { RedisStore } from "@tollgate/redis"
import { storeContract } from "@tollgate/store-testkit"
import { startRedis, startRedisCluster } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { Cluster } from "ioredis"

storeContract("Redis", Layer.unwrap(Effect.map(startRedis(), ({ url }) => RedisStore.layer(url))))

storeContract(
  "a Redis Cluster of three masters",
  Layer.unwrap(
    Effect.gen(function* () {
      const { nodes } = yield* startRedisCluster({ masters: 3 })
      const cluster = yield* Effect.acquireRelease(
        Effect.sync(() => new Cluster([...nodes])),
        (cluster) => Effect.sync(() => cluster.disconnect())
      )
      return RedisStore.layer(cluster)
    })
  )
)
