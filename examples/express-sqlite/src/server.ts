/**
 * An Express server with the whole interface, and one route of its own that is protected and metered.
 */
import type { Server } from "node:http"
import { createTollgate, type StoreOperations } from "@tollgate/core"
import { requireApiKey, tollgate } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import express from "express"
import { account, bucket, prepareDemo } from "./demo.ts"
import { keepsake } from "./keepsake.ts"
import type { Settings } from "./settings.ts"

export interface Running {
  readonly url: string
  /** The management token, if it was made at this start. */
  readonly newToken: string | undefined
  /** The demo consumer's key, if it was made at this start. */
  readonly demoKey: string | undefined
  /** Stops taking requests, finishes those that run, and closes the store. */
  readonly stop: () => Promise<void>
}

type OpenStore = StoreOperations & { readonly close: () => Promise<void> }

const openStore = async (store: string): Promise<OpenStore> => {
  if (store === "memory:") return MemoryStore.open()
  return store.startsWith("sqlite:") ? SqliteStore.open(store.slice("sqlite:".length)) : RedisStore.open(store)
}

const listening = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject))

export const start = async (settings: Settings): Promise<Running> => {
  const token = settings.tokens === undefined ? keepsake(settings.dataFolder, "management-token") : undefined
  const secret = settings.secrets ?? keepsake(settings.dataFolder, "secret").value
  const store = await openStore(settings.store)
  try {
    const tokens = settings.tokens ?? [{ token: token?.value ?? "", account: "*" }]
    const gate = await createTollgate({ store, secret, tokens })
    const demo = await prepareDemo(gate)

    const app = express()
    app.disable("x-powered-by")
    app.use(tollgate(gate))
    const metering = { bucketId: demo.bucketId, meters: { requests: 1 } }
    app.get("/hello", requireApiKey(gate, { account, bucket, metering }), (req, res) => {
      res.json({ hello: req.consumer?.sub, remaining: req.consumer?.remaining["requests"] })
    })

    const server = app.listen(settings.port, settings.host)
    await listening(server)
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : settings.port
    return {
      url: `http://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}`,
      newToken: token?.isNew === true ? token.value : undefined,
      demoKey: demo.key,
      stop: async () => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        server.closeIdleConnections()
        await closed
        await gate.close()
        await store.close()
      }
    }
  } catch (error) {
    await store.close()
    throw error
  }
}
