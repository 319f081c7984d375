/**
 * A Hono server on Node, with the HTTP API and two routes that require an API key.
 */
import { type ServerType, serve } from "@hono/node-server"
import { Hono } from "hono"
import { createTollgate, type Tollgate } from "tollgate"
import { requireApiKey } from "tollgate/hono"
import { MemoryStore } from "tollgate/memory"

export interface Example {
  readonly gate: Tollgate
  readonly url: string
  readonly stop: () => Promise<void>
}

const listen = (app: Hono, port: number): Promise<{ readonly server: ServerType; readonly url: string }> =>
  new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, (address) =>
      resolve({ server, url: `http://127.0.0.1:${address.port}` })
    )
  })

/** Port 0 is a free port. */
export const start = async (secret: string, token: string, port = 0): Promise<Example> => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: [{ token, account: "acme" }] })
  const production = gate.account("acme").keyBucket("production")
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }

  const app = new Hono()
  app.mount("/api/dev", (request) => gate.handler(request))

  app.get("/hello", requireApiKey(production, { metering }), (c) =>
    c.json({ hello: c.var.consumer.name, remaining: c.var.consumer.remaining["requests"] })
  )
  app.get("/whoami", requireApiKey(production, { keyFrom: { header: "x-api-key" } }), (c) =>
    c.text(c.var.consumer.name)
  )

  const { server, url } = await listen(app, port)
  return {
    gate,
    url,
    stop: async () => {
      await new Promise((resolve) => server.close(resolve))
      await gate.close()
    }
  }
}
