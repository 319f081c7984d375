/**
 * A server process of one framework on one store: a route without protection, and the same route with an API key, with a
 * rate limit too, and with a meter too.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import { join } from "node:path"
import type { LocalKeyBucketHandle } from "@tollgate/core"
import { type RequireApiKeyOptions, requireApiKey as requireInExpress } from "@tollgate/express"
import { requireApiKey as requireInKoa } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { requireApiKey as requireInNode } from "@tollgate/node"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import express from "express"
import Koa, { type Context } from "koa"
import { loadCustomers, unreachableRateLimit } from "./customers.ts"
import { listen } from "./listen.ts"
import type { Resources } from "./resources.ts"
import { reportCpuTime } from "./serverLoad.ts"

/** The options of each protected route, by its path. */
type Routes = Readonly<Record<string, RequireApiKeyOptions>>

const openStore: Readonly<Record<string, (resources: Resources) => StoreOperations | Promise<StoreOperations>>> = {
  memory: () => MemoryStore.open(),
  "SQLite file": ({ folder }) => SqliteStore.open(join(folder, "routes.db")),
  Redis: ({ redis }) => RedisStore.open(redis, { prefix: "routes:" }),
  Postgres: ({ postgres }) => PostgresStore.open(postgres, { schema: "routes" })
}

const greeting = { hello: "world" }

const makeExpressListener = (keyBucket: LocalKeyBucketHandle, routes: Routes): RequestListener => {
  const app = express()
  const greet = (_req: express.Request, res: express.Response) => void res.json(greeting)
  app.get("/open", greet)
  for (const [path, options] of Object.entries(routes)) app.get(path, requireInExpress(keyBucket, options), greet)
  return app
}

const makeKoaListener = (keyBucket: LocalKeyBucketHandle, routes: Routes): RequestListener => {
  const app = new Koa()
  const greet = async (ctx: Context) => {
    ctx.body = greeting
  }
  const protections = new Map(
    Object.entries(routes).map(([path, options]) => [path, requireInKoa(keyBucket, options)] as const)
  )
  app.use((ctx) => {
    const protect = protections.get(ctx.path)
    return protect === undefined ? greet(ctx) : protect(ctx as never, () => greet(ctx))
  })
  return app.callback()
}

const makeNodeListener = (keyBucket: LocalKeyBucketHandle, routes: Routes): RequestListener => {
  const greet = (res: ServerResponse) =>
    void res.setHeader("content-type", "application/json").end(JSON.stringify(greeting))
  const protections = new Map(
    Object.entries(routes).map(([path, options]) => [path, requireInNode(keyBucket, options)] as const)
  )
  return (req: IncomingMessage, res) => {
    const protect = protections.get(req.url ?? "")
    if (protect === undefined) greet(res)
    else protect(req, res, () => greet(res))
  }
}

const makeListener = { Express: makeExpressListener, Koa: makeKoaListener, "node:http": makeNodeListener }

export interface RoutesTask {
  readonly framework: keyof typeof makeListener
  readonly storeName: string
  readonly resources: Resources
}

process.once("message", async ({ framework, storeName, resources }: RoutesTask) => {
  const store = await openStore[storeName]?.(resources)
  if (store === undefined) throw new Error(`there is no store ${storeName}`)
  const { keys, keyBucket, metering } = await loadCustomers(store)
  const rateLimit = unreachableRateLimit
  const routes = {
    "/key": {},
    "/limit": { rateLimit },
    "/meter": { rateLimit: { ...rateLimit, name: "metered" }, metering }
  }
  const port = await listen(makeListener[framework](keyBucket, routes))
  reportCpuTime()
  process.send?.({ port, keys })
})
