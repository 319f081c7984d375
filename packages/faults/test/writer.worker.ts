import { createTollgate } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"

/** Creates consumers with keys until the process is killed, and reports each one after its creation is acknowledged. */
process.once("message", async ({ path, secret, run }: { path: string; secret: string; run: number }) => {
  const gate = await createTollgate({ store: await SqliteStore.open(path), secret })
  const keyBucket = gate.account("acme").keyBucket("b")
  const writeForever = async (lane: number) => {
    for (let index = 0; ; index++) {
      const name = `c-${run}-${lane}-${index}`
      const { apiKeys } = await keyBucket.consumers.create({ name }, { withApiKey: true })
      process.send?.([name, apiKeys[0].key])
    }
  }
  for (let lane = 0; lane < 8; lane++) void writeForever(lane)
})
