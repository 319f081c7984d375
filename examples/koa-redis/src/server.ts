/**
 * Tollgate in a Koa server, over Redis, with one route that is protected and metered.
 */
import type { Server } from "node:http"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { requireApiKey, tollgate } from "@tollgate/koa"
import { RedisStore } from "@tollgate/redis"
import Koa from "koa"

export interface Example {
  readonly gate: Tollgate
  readonly server: Server
  readonly stop: () => Promise<void>
}

export interface Options {
  readonly redis: string
  readonly secret: string
  readonly token: string
  /** The metering bucket that calls are counted in. */
  readonly bucketId?: string
}

/** How long running requests may take to finish once the server stops. */
const stopTimeoutMs = 5_000

export const start = async ({ redis, secret, token, bucketId }: Options): Promise<Example> => {
  const store = await RedisStore.open(redis)
  const gate = await createTollgate({ store, secret, tokens: [{ token, account: "acme" }] })
  const metering = {
    meteringBucketId: bucketId ?? (await gate.meteringBuckets.create("acme")).id,
    meters: { requests: 1 }
  }

  const app = new Koa()
  app.use(tollgate(gate, { prefix: "/api/dev" }))
  app.use(requireApiKey(gate, { account: "acme", bucket: "production", metering }))
  app.use((ctx) => {
    ctx.body = { hello: ctx.state["consumer"].sub, remaining: ctx.state["consumer"].remaining.requests }
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
