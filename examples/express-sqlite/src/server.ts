/**
 * An Express server with the HTTP API and one route, /hello, that requires an API key and counts its calls.
 */

import { createServer, type RequestListener, type Server } from "node:http"
import { join } from "node:path"
import express from "express"
import { createTollgate } from "tollgate"
import { adminConsole } from "tollgate/console"
import { decisions } from "tollgate/decisions"
import { deployments } from "tollgate/deployments"
import { requireApiKey, tollgate } from "tollgate/express"
import { toNodeHandler } from "tollgate/node"
import { openTelemetry } from "tollgate/opentelemetry"
import { customerPortal } from "tollgate/portal"
import { sites } from "tollgate/sites"
import { webhooks } from "tollgate/webhooks"
import { isFilled } from "./company/fillCompany.ts"
import { fillDemo, fillMemory } from "./company/fillDemo.ts"
import { serveDemoFiller } from "./company/serveDemoFiller.ts"
import { prepareDemo } from "./demo.ts"
import { serveHomePage } from "./homePage.ts"
import { openStore } from "./openStore.ts"
import { loadOrCreateSecret } from "./persistentSecret.ts"
import type { Settings } from "./settings.ts"

export interface RunningServer {
  readonly url: string
  /** A link that opens the console without a token. It works once, within 5 minutes. */
  readonly consoleUrl: string
  /** The management token, if this start created it. */
  readonly newToken: string | undefined
  /** The demo consumer's API key, if this start created it. */
  readonly demoKey: string | undefined
  /** Stops accepting requests, waits for running requests, and closes the store. */
  readonly stop: () => Promise<void>
}

/** How long `stop` waits for running requests. Shorter than in main.ts, because closing the gate takes time too. */
const stopTimeoutMs = 5_000

interface HttpListener {
  readonly server: Server
  readonly url: string
  /** Sets the handler. Requests that arrive earlier wait for it. */
  readonly setHandler: (listener: RequestListener) => void
}

/** Listens before the gate exists, because the gate needs the URL, and with port 0 the URL is known only now. */
const listen = async (host: string, port: number): Promise<HttpListener> => {
  const { promise: handler, resolve: setHandler } = Promise.withResolvers<RequestListener>()
  // Uploads of large sources over slow connections take long. Tollgate itself aborts uploads that stall.
  const options = { requestTimeout: 60 * 60 * 1000 }
  const server = createServer(options, (req, res) => void handler.then((handle) => handle(req, res)))
  server.listen(port, host)
  await new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject))
  const address = server.address()
  const actualPort = typeof address === "object" && address !== null ? address.port : port
  return { server, url: `http://${host.includes(":") ? `[${host}]` : host}:${actualPort}`, setHandler }
}

export const start = async (settings: Settings): Promise<RunningServer> => {
  const { dataFolder } = settings
  const token = settings.tokens === undefined ? loadOrCreateSecret(dataFolder, "management-token") : undefined
  const secret = settings.secrets ?? loadOrCreateSecret(dataFolder, "secret").value
  const store = await openStore(settings.store)
  // Another connection cannot write into the memory of this process.
  const canFill = settings.store !== "memory:"
  try {
    if (settings.isDemo && !canFill) await fillMemory(store, secret)
    const { server, url, setHandler } = await listen(settings.host, settings.port)
    const gate = await createTollgate({
      store,
      secret,
      tokens: settings.tokens ?? [{ token: token?.value ?? "", account: "*", permissions: ["*"] }],
      publicUrl: settings.publicUrl ?? url,
      metrics: true,
      modules: [
        adminConsole({ demoPath: canFill ? "demo" : undefined }),
        customerPortal({ meteringBucket: "default" }),
        decisions(),
        webhooks({ allowPrivateNetworks: settings.allowPrivateWebhooks }),
        deployments({ ...sites({ folder: join(dataFolder, "sites") }), sitesUrl: settings.sitesUrl }),
        openTelemetry()
      ]
    })
    if (settings.isDemo && canFill && !(await isFilled(gate))) await fillDemo(settings.store, secret)
    const demo = await prepareDemo(gate)

    const app = express()
    app.disable("x-powered-by")
    app.use(tollgate(gate))
    app.get("/", serveHomePage((settings.publicUrl ?? url).replace(/\/$/, "")))
    const metering = { meteringBucketId: demo.meteringBucketId, meters: { requests: 1 } }
    app.get("/hello", requireApiKey(demo.production, { metering }), (req, res) => {
      res.json({ hello: req.consumer?.name, remaining: req.consumer?.remaining["requests"] })
    })
    if (canFill)
      app.post(
        "/demo",
        serveDemoFiller(gate, () => fillDemo(settings.store, secret))
      )
    // For unknown paths below /v1, send Tollgate's 404 problem instead of Express's HTML page.
    const handleUnknownPath = toNodeHandler(gate)
    app.use((req, res, next) => (req.path.startsWith("/v1/") ? void handleUnknownPath(req, res) : next()))
    setHandler(app)

    return {
      url,
      consoleUrl: (await gate.createConsoleLink({ permissions: ["*"], name: "npm start" })).url,
      newToken: token?.isNew === true ? token.value : undefined,
      demoKey: demo.key,
      stop: async () => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        server.closeIdleConnections()
        const forceClose = setTimeout(() => server.closeAllConnections(), stopTimeoutMs)
        await closed
        clearTimeout(forceClose)
        await gate.close()
        await store.close()
      }
    }
  } catch (error) {
    await store.close()
    throw error
  }
}
