import { RedisStore } from "@tollgate/redis"
import { Rivalry, worker } from "@tollgate/testing"

worker(async (url: string) => {
  const store = await RedisStore.open(url)
  const result = await Rivalry.compete(store)
  await store.close()
  return result
})
