/**
 * A process with one server per framework, each with the HTTP API and a route with a constant response.
 */
import type { RequestListener } from "node:http"
import { createTollgate } from "@tollgate/core"
import { tollgate } from "@tollgate/express"
import { tollgate as koaTollgate } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import express from "express"
import Koa from "koa"
import { account, secret } from "./keys.ts"
import { listen } from "./listen.ts"
import { reportCpuTime } from "./serverLoad.ts"

const gate = await createTollgate({
  store: MemoryStore.open(),
  secret,
  tokens: [{ token: "a-token-of-the-benchmarks", account }]
})
const alice = await gate
  .account(account)
  .keyBucket("b")
  .consumers.create({ name: "alice", tags: { team: "blue" } }, { withApiKey: true })
const { apiKeys, version, ...constant } = alice

const makeExpressListener = (): RequestListener => {
  const app = express()
  app.get("/constant", (_req, res) => void res.json(constant))
  app.use(tollgate(gate))
  return app
}

const makeKoaListener = (): RequestListener => {
  const app = new Koa()
  app.use(async (ctx, next) => {
    if (ctx.path === "/constant") ctx.body = constant
    else await next()
  })
  app.use(koaTollgate(gate))
  return app.callback()
}

const makeNodeListener = (): RequestListener => {
  const handle = toNodeHandler(gate)
  const body = JSON.stringify(constant)
  return (req, res) => {
    if (req.url === "/constant") res.setHeader("content-type", "application/json").end(body)
    else void handle(req, res)
  }
}

const ports = {
  Express: await listen(makeExpressListener()),
  Koa: await listen(makeKoaListener()),
  "node:http": await listen(makeNodeListener())
}
reportCpuTime()
process.send?.({ ports, key: apiKeys[0].key })
