/**
 * A Koa server with a Redis store, the HTTP API, and one route that requires an API key and counts its calls.
 */
import type { Server } from "node:http"
import Koa from "koa"
import { createTollgate, type Tollgate } from "tollgate"
import { requireApiKey, tollgate } from "tollgate/koa"
import { RedisStore } from "tollgate/redis"

export interface Example {
  readonly gate: Tollgate
  readonly server: Server
  readonly stop: () => Promise<void>
}

export interface Options {
  readonly redis: string
  readonly secret: string
  readonly token: string
}

/** How long `stop` waits for running requests. */
const stopTimeoutMs = 5_000

export const start = async ({ redis, secret, token }: Options): Promise<Example> => {
  const store = await RedisStore.open(redis)
  const gate = await createTollgate({ store, secret, tokens: [{ token, account: "acme" }] })
  const acme = gate.account("acme")
  const { id: meteringBucketId } = await acme.meteringBuckets.ensure("default")
  const metering = { meteringBucketId, meters: { requests: 1 } }

  const app = new Koa()
  app.use(tollgate(gate, { prefix: "/api/dev" }))
  app.use(requireApiKey(acme.keyBucket("production"), { metering }))
  app.use((ctx) => {
    ctx.body = { hello: ctx.state["consumer"].name, remaining: ctx.state["consumer"].remaining.requests }
  })

  const server = app.listen(0, "127.0.0.1")
  return {
    gate,
    server,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const forceClose = setTimeout(() => server.closeAllConnections(), stopTimeoutMs)
      await closed
      clearTimeout(forceClose)
      await gate.close()
      await store.close()
    }
  }
}
