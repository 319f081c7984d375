/**
 * An API, with the routes of the portal. The README has its settings.
 */
import express from "express"
import { createTollgate } from "tollgate"
import { requireApiKey } from "tollgate/express"
import { MemoryStore } from "tollgate/memory"
import { makeFindUser } from "./makeFindUser.ts"
import { makeKeyRoutes } from "./makeKeyRoutes.ts"

const { TOLLGATE_SECRET, PORTAL = "", ISSUER = "", AUDIENCE = "", JWKS_URL = "", PORT = 3000 } = process.env
const gate = await createTollgate({ store: MemoryStore.open(), secret: TOLLGATE_SECRET })
const production = gate.account("acme").keyBucket("production")
const findUser = makeFindUser({ issuer: ISSUER, audience: AUDIENCE, jwksUrl: JWKS_URL })

const app = express()
app.use("/portal-keys", makeKeyRoutes(production, { findUser, portal: PORTAL }))
app.get("/hello", requireApiKey(production), (req, res) => void res.json({ hello: req.consumer?.name }))
app.listen(Number(PORT), "127.0.0.1", () => console.log(`Listening on port ${PORT}`))
