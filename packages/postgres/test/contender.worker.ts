import { PostgresStore } from "@tollgate/postgres"
import { Contention, runAsWorker } from "@tollgate/testing"

runAsWorker(async (url: string) => {
  const store = await PostgresStore.open(url)
  const result = await Contention.compete(store)
  await store.close()
  return result
})
