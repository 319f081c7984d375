import { SqliteStore } from "@tollgate/sqlite"
import { Rivalry, worker } from "@tollgate/testing"

worker(async (path: string) => {
  const store = await SqliteStore.open(path)
  const result = await Rivalry.compete(store)
  await store.close()
  return result
})
