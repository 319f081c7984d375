/**
 * A Fastify server with the HTTP API, and one route that requires an API key and counts its calls.
 */

import Fastify from "fastify"
import { createTollgate, type Tollgate } from "tollgate"
import { requireApiKey, tollgate } from "tollgate/fastify"
import { MemoryStore } from "tollgate/memory"

export interface Example {
  readonly gate: Tollgate
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Port 0 is a free port. */
export const start = async (secret: string, token: string, port = 0): Promise<Example> => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: [{ token, account: "acme" }] })
  const production = gate.account("acme").keyBucket("production")
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }

  const app = Fastify()
  app.register(tollgate(gate), { prefix: "/api/dev" })
  app.get("/hello", { onRequest: requireApiKey(production, { metering }) }, async ({ consumer }) => ({
    hello: consumer?.name,
    remaining: consumer?.remaining["requests"]
  }))
  // Fastify calls it after the last request has ended.
  app.addHook("onClose", () => gate.close())

  return { gate, url: await app.listen({ port, host: "127.0.0.1" }), stop: () => app.close() }
}
