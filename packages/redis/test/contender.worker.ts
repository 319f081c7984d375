import { RedisStore } from "@tollgate/redis"
import { Contention, worker } from "@tollgate/testing"

worker(async (url: string) => {
  const store = await RedisStore.open(url)
  const result = await Contention.compete(store)
  await store.close()
  return result
})
