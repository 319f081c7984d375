/**
 * An Express server with the whole interface, and one route of its own that is protected and metered.
 */
import { createServer, type RequestListener, type Server } from "node:http"
import { join } from "node:path"
import { createTollgate, type StoreOperations } from "@tollgate/core"
import { requireApiKey, tollgate } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import express from "express"
import { account, bucket, prepareDemo } from "./demo.ts"
import { loadOrCreateSecret } from "./persistentSecret.ts"
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

/** How long requests that run may take to end, once the server is asked to: the gate needs some time as well. */
const stopTimeoutMs = 5_000

type OpenStore = StoreOperations & { readonly close: () => Promise<void> }

const openStore = async (store: string): Promise<OpenStore> => {
  if (store === "memory:") return MemoryStore.open()
  return store.startsWith("sqlite:") ? SqliteStore.open(store.slice("sqlite:".length)) : RedisStore.open(store)
}

interface HttpListener {
  readonly server: Server
  readonly url: string
  /** Gives the requests, also those that came early, to whoever answers them. */
  readonly answerWith: (listener: RequestListener) => void
}

/** Takes the port first: with port 0, nobody knows the address before. */
const listen = async (host: string, port: number): Promise<HttpListener> => {
  const { promise: listener, resolve: answerWith } = Promise.withResolvers<RequestListener>()
  // A large source over a slow line takes its time; one that falls silent is given up by the gate.
  const options = { requestTimeout: 60 * 60 * 1000 }
  const server = createServer(options, (req, res) => void listener.then((answer) => answer(req, res)))
  server.listen(port, host)
  await new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject))
  const address = server.address()
  const taken = typeof address === "object" && address !== null ? address.port : port
  return { server, url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`, answerWith }
}

export const start = async (settings: Settings): Promise<Running> => {
  const { dataFolder } = settings
  const token = settings.tokens === undefined ? loadOrCreateSecret(dataFolder, "management-token") : undefined
  const secret = settings.secrets ?? loadOrCreateSecret(dataFolder, "secret").value
  const store = await openStore(settings.store)
  try {
    const { server, url, answerWith } = await listen(settings.host, settings.port)
    const gate = await createTollgate({
      store,
      secret,
      tokens: settings.tokens ?? [{ token: token?.value ?? "", account: "*" }],
      publicUrl: settings.publicUrl ?? url,
      ...(settings.sitesUrl === undefined ? {} : { sitesUrl: settings.sitesUrl }),
      deployments: sites({ folder: join(dataFolder, "sites") })
    })
    const demo = await prepareDemo(gate)

    const app = express()
    app.disable("x-powered-by")
    app.use(tollgate(gate))
    const metering = { meteringBucketId: demo.bucketId, meters: { requests: 1 } }
    app.get("/hello", requireApiKey(gate, { account, bucket, metering }), (req, res) => {
      res.json({ hello: req.consumer?.sub, remaining: req.consumer?.remaining["requests"] })
    })
    // What is mistyped below /v1 is answered as the interface answers it, and not by Express.
    const answer = toNodeHandler(gate)
    app.use((req, res, next) => (req.path.startsWith("/v1/") ? void answer(req, res) : next()))
    answerWith(app)

    return {
      url,
      newToken: token?.isNew === true ? token.value : undefined,
      demoKey: demo.key,
      stop: async () => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        server.closeIdleConnections()
        const impatient = setTimeout(() => server.closeAllConnections(), stopTimeoutMs)
        await closed
        clearTimeout(impatient)
        await gate.close()
        await store.close()
      }
    }
  } catch (error) {
    await store.close()
    throw error
  }
}
