/**
 * The adapter against the routes, as Zudoku calls it, and what one person can do to the keys of another.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import express from "express"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { createTollgate } from "tollgate"
import { MemoryStore } from "tollgate/memory"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeFindUser } from "../src/makeFindUser.ts"
import { makeKeyRoutes } from "../src/makeKeyRoutes.ts"
import { tollgateKeys } from "../src/tollgateKeys.ts"

const stops: Array<() => unknown> = []
const listen = async (handler: RequestListener) => {
  const server = createServer(handler).listen(0, "127.0.0.1")
  await once(server, "listening")
  stops.push(
    () => server.close(),
    () => server.closeAllConnections()
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const [issuer, audience] = ["https://provider.example", "https://api.example"]
const { publicKey, privateKey } = await generateKeyPair("RS256")
const gate = await createTollgate({ store: MemoryStore.open(), secret: "a-secret-of-32-characters-for-tests" })
const production = gate.account("acme").keyBucket("production")
let url: string
let keys: ReturnType<typeof tollgateKeys>

beforeAll(async () => {
  const jwk = { ...(await exportJWK(publicKey)), kid: "tests", alg: "RS256" }
  const jwksUrl = await listen((_req, res) => res.end(JSON.stringify({ keys: [jwk] })))
  const routes = makeKeyRoutes(production, {
    findUser: makeFindUser({ issuer, audience, jwksUrl }),
    portal: "https://portal.example"
  })
  url = `${await listen(express().use("/portal-keys", routes))}/portal-keys`
  keys = tollgateKeys(url)
})
afterAll(async () => {
  for (const stop of [...stops, gate.close]) await stop()
})

/** What Zudoku passes to each call: it signs requests with the access token of the person. */
const signIn = (user: string, { aud = audience, key = privateKey, expires = "1h" } = {}) => ({
  signRequest: async (request: Request) => {
    const token = new SignJWT({}).setProtectedHeader({ alg: "RS256", kid: "tests" }).setSubject(user)
    const text = await token.setIssuer(issuer).setAudience(aud).setExpirationTime(expires).sign(key)
    request.headers.set("authorization", `Bearer ${text}`)
    return request
  }
})

it("creates, lists, rolls and deletes the keys of who is signed in", async () => {
  const ann = signIn("auth0|ann")
  expect(await keys.getConsumers(ann)).toEqual([])
  const expiresOn = "2099-01-01T00:00:00.000Z"
  await Promise.all([
    keys.createKey({ apiKey: { description: "Laptop", expiresOn }, context: ann }),
    keys.createKey({ apiKey: { description: "Server" }, context: ann })
  ])
  const [consumer] = await keys.getConsumers(ann)
  expect(consumer?.apiKeys.map(({ description }) => description).sort()).toEqual(["Laptop", "Server"])
  for (const { key } of consumer?.apiKeys ?? []) expect((await production.verify(key)).valid).toBe(true)

  const id = consumer?.id ?? ""
  await keys.updateConsumer({ id, label: "Ann's keys" }, ann)
  await keys.rollKey(id, ann)
  const [rolled] = await keys.getConsumers(ann)
  expect([rolled?.label, rolled?.apiKeys.length]).toEqual(["Ann's keys", 3])
  expect((await production.verify(rolled?.apiKeys[0]?.key)).valid).toBe(true) // the new one is first
  expect(rolled?.apiKeys[0]?.expiresOn).toBeUndefined()
  for (const key of rolled?.apiKeys ?? []) await keys.deleteKey(id, key.id, ann)
  expect((await keys.getConsumers(ann))[0]?.apiKeys).toEqual([])
  expect((await production.verify(rolled?.apiKeys[0]?.key)).valid).toBe(false)
})

it("reaches no keys of others", async () => {
  const [ann, eve] = [signIn("auth0|ann2"), signIn("auth0|eve")]
  for (const context of [ann, eve]) await keys.createKey({ apiKey: { description: "Mine" }, context })
  const [mine] = await keys.getConsumers(ann)
  const [hers] = await keys.getConsumers(eve)
  const [id, keyId] = [mine?.id ?? "", mine?.apiKeys[0]?.id ?? ""]
  for (const attempt of [
    () => keys.deleteKey(id, keyId, eve),
    () => keys.deleteKey(hers?.id ?? "", keyId, eve),
    () => keys.rollKey(id, eve),
    () => keys.updateConsumer({ id, label: "Eve's" }, eve)
  ]) {
    await expect(attempt()).rejects.toThrow(/You have no such consumer|There is no key with this id/)
  }
  expect(await keys.getConsumers(ann)).toEqual([mine])
  const { privateKey: otherKey } = await generateKeyPair("RS256")
  for (const forged of [{ aud: "https://other.example" }, { key: otherKey }, { expires: "-1h" }]) {
    await expect(keys.getConsumers(signIn("auth0|ann2", forged))).rejects.toThrow("Sign in first")
  }
  expect((await fetch(`${url}/consumers`)).status).toBe(401)
})

it("takes nothing from a body but the description and the expiry", async () => {
  const context = signIn("auth0|mallory")
  const apiKey = { description: "Mine", scopes: ["*"], key: "a-value-of-my-own-choice" }
  await keys.createKey({ apiKey, context })
  const [consumer] = await keys.getConsumers(context)
  expect(consumer?.apiKeys[0]?.key).toMatch(/^tg_/)
  expect((await production.keys.list(consumer?.id ?? "")).data[0]?.scopes).toBeUndefined()
  await expect(keys.createKey({ apiKey: { description: "x".repeat(10_000) }, context })).rejects.toThrow("description")
})

it("lets only the portal read it", async () => {
  const preflight = await fetch(`${url}/keys`, { method: "OPTIONS" })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get("access-control-allow-origin")).toBe("https://portal.example")
  expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization, content-type")
  expect((await fetch(`${url}/consumers`)).headers.get("cache-control")).toBe("no-store")
})
