import { createTollgate, QuotaExceeded } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { worker } from "@tollgate/testing"

export interface ConsumeInput {
  readonly store: "sqlite" | "redis"
  readonly at: string
  readonly secret: string
  readonly bucketId: string
  readonly subscriptionId: string
  readonly key: string
}

/** One process's part: 50 uses of the subscription, and 50 by way of its customer's key. */
worker(async ({ store, at, secret, bucketId, subscriptionId, key }: ConsumeInput) => {
  const told: Array<number> = []
  const opened = store === "sqlite" ? await SqliteStore.open(at) : await RedisStore.open(at)
  const gate = await createTollgate({
    store: opened,
    secret,
    onQuota: ({ threshold }) => {
      told.push(threshold)
    }
  })
  const direct = Array.from({ length: 50 }, () =>
    gate.usage.consume(bucketId, subscriptionId, { requests: 1 }).then(
      () => "accepted",
      (error) => (error instanceof QuotaExceeded ? "over" : String(error))
    )
  )
  const authorized = Array.from({ length: 50 }, () =>
    gate
      .authorize({ account: "acme", bucket: "b", key, metering: { bucketId, meters: { requests: 1 } } })
      .then((answer) => (answer.allowed ? "accepted" : answer.reason === "over-quota" ? "over" : answer.reason), String)
  )
  const outcomes = await Promise.all([...direct, ...authorized])
  await gate.close()
  await opened.close()
  return { outcomes, told }
})
