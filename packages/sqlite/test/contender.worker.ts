import { SqliteStore } from "@tollgate/sqlite"
import { Contention, runAsWorker } from "@tollgate/testing"

runAsWorker(async (path: string) => {
  const store = await SqliteStore.open(path)
  const result = await Contention.compete(store)
  await store.close()
  return result
})
