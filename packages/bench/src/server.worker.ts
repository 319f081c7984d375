/**
 * A server process with sites on a SQLite file.
 */

import { createServer } from "node:http"
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import { deployments } from "@tollgate/deployments"
import { toNodeHandler } from "@tollgate/node"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"

process.once("message", async (folder: string) => {
  const server = createServer().listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  const gate = await createTollgate({
    store: await SqliteStore.open(join(folder, "bench.db")),
    secret: "a secret for the benchmarks only",
    tokens: [{ token: "a-token-of-the-benchmarks", account: "bench" }],
    publicUrl: url,
    modules: [deployments(sites({ folder: join(folder, "sites") }))]
  })
  server.on("request", toNodeHandler(gate))
  process.send?.(url)
})
