import { createServer } from "node:http"
import { toNodeHandler } from "tollgate/node"
import { gate, signIn } from "./console.ts"

const routes = new Map([
  ["GET /sign-in", signIn.start],
  ["GET /sign-in/callback", signIn.finish]
])
const serveApi = toNodeHandler(gate, { prefix: "/api" })

export const server = createServer((req, res) => {
  const handler = routes.get(`${req.method} ${req.url?.split("?")[0]}`)
  if (handler === undefined) serveApi(req, res)
  else void handler(req, res)
})
