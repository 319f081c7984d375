import { createTollgate } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"

/** Makes consumers with keys until it is killed, and tells of each when, and only when, it is answered. */
process.once("message", async ({ path, secret, run }: { path: string; secret: string; run: number }) => {
  const gate = await createTollgate({ store: await SqliteStore.open(path), secret })
  const write = async (lane: number) => {
    for (let index = 0; ; index++) {
      const name = `c-${run}-${lane}-${index}`
      const made = await gate.consumers.create("acme", "b", { name }, { withApiKey: true })
      process.send?.([name, made.apiKeys?.[0]?.key])
    }
  }
  for (let lane = 0; lane < 8; lane++) void write(lane)
})
