import { RedisStore } from "@tollgate/redis"
import { Contention, runAsWorker } from "@tollgate/testing"

runAsWorker(async (url: string) => {
  const store = await RedisStore.open(url)
  const result = await Contention.compete(store)
  await store.close()
  return result
})
