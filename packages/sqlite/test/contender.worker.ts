import { SqliteStore } from "@tollgate/sqlite"
import { Contention, worker } from "@tollgate/testing"

worker(async (path: string) => {
  const store = await SqliteStore.open(path)
  const result = await Contention.compete(store)
  await store.close()
  return result
})
