/**
 * What the portal calls, in your server. Who is signed in has one consumer, and reaches no other.
 */
import { createHash } from "node:crypto"
import express, { type ErrorRequestHandler, type Request, type Router } from "express"
import { ConsumerNameTaken, ConsumerNotFound, type LocalKeyBucketHandle } from "tollgate"

export interface KeyRoutesOptions {
  /** Returns the subject of the access token, or undefined if it is not valid. */
  readonly findUser: (req: Request) => Promise<string | undefined>
  /** The origin of the portal, such as `https://developers.example.com`. */
  readonly portal: string
}

/** How long keys go on working that were rolled. */
const graceMs = 86_400_000

/** Subjects have characters that names do not allow. */
const toName = (user: string) => createHash("sha256").update(user).digest("hex").slice(0, 40)

export const makeKeyRoutes = (
  { consumers, keys }: LocalKeyBucketHandle,
  { findUser, portal }: KeyRoutesOptions
): Router => {
  const routes = express.Router()
  routes.use((req, res, next) => {
    res.set({ "access-control-allow-origin": portal, vary: "origin", "cache-control": "no-store" })
    if (req.method !== "OPTIONS") return next()
    const allow = { methods: "GET, POST, PATCH, DELETE", headers: "authorization, content-type" }
    res.set({ "access-control-allow-methods": allow.methods, "access-control-allow-headers": allow.headers })
    res.sendStatus(204)
  })
  routes.use(express.json(), async (req, res, next) => {
    const user = await findUser(req)
    if (user === undefined) return void res.status(401).json({ error: "Sign in first" })
    res.locals["name"] = toName(user)
    next()
  })
  routes.param("consumer", (_req, res, next, consumer) => {
    if (consumer === res.locals["name"]) next()
    else res.status(404).json({ error: "You have no such consumer" })
  })

  routes.get("/consumers", async (_req, res) => {
    const { name } = res.locals
    try {
      const { description = "My keys" } = await consumers.get(name)
      const { data } = await keys.list(name, { keyFormat: "visible" })
      const enabled = data.filter(({ disabled }) => !disabled).reverse() // the playground takes the first
      const apiKeys = enabled.map(({ id, key, description, createdOn, expiresOn }) => {
        return { id, key, description, createdOn, expiresOn }
      })
      res.json([{ id: name, label: description, apiKeys }])
    } catch (error) {
      if (!(error instanceof ConsumerNotFound)) throw error
      res.json([]) // until the first key
    }
  })
  routes.post("/keys", async (req, res) => {
    const { name } = res.locals
    const { description, expiresOn } = req.body ?? {}
    await consumers.create({ name }).catch((error) => {
      if (!(error instanceof ConsumerNameTaken)) throw error
    })
    await keys.create(name, { description, expiresOn }, { actor: name })
    res.sendStatus(204)
  })
  routes.post("/consumers/:consumer/roll-key", async (_req, res) => {
    const { name } = res.locals
    await consumers.rollKey(name, { expiresOn: new Date(Date.now() + graceMs) }, { actor: name })
    res.sendStatus(204)
  })
  routes.delete("/consumers/:consumer/keys/:key", async (req, res) => {
    const { name } = res.locals
    await keys.remove(name, req.params.key, { actor: name })
    res.sendStatus(204)
  })
  routes.patch("/consumers/:consumer", async (req, res) => {
    const { name } = res.locals
    await consumers.update(name, { description: req.body?.label }, { actor: name })
    res.sendStatus(204)
  })

  const handleError: ErrorRequestHandler = (error, _req, res, next) => {
    if (!(error.status < 500)) return next(error)
    res.status(error.status).json({ error: error.message })
  }
  routes.use(handleError)
  return routes
}
