/** Uses `tollgate` as an application does. The exported values show that it can emit declarations of what it makes. */
import assert from "node:assert/strict"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import express from "express"
import { ConsumerNotFound, createTollgate, type Tollgate } from "tollgate"
import { createClient, ConsumerNotFound as RemoteConsumerNotFound } from "tollgate/client"
import { adminConsole, type ConsoleModule } from "tollgate/console"
import { type DecisionsModule, decisions } from "tollgate/decisions"
import { type DeploymentsModule, deployments } from "tollgate/deployments"
import { requireApiKey, tollgate } from "tollgate/express"
import { sites } from "tollgate/sites"
import { SqliteStore } from "tollgate/sqlite"
import { type WebhooksModule, webhooks } from "tollgate/webhooks"
import { webhooksClient } from "tollgate/webhooks/client"

const folder = mkdtempSync(join(tmpdir(), "tollgate-program-"))
const token = "a-management-token-of-this-check"
const store = await SqliteStore.open(join(folder, "tollgate.db"))
export const gate: Tollgate<ConsoleModule | DecisionsModule | DeploymentsModule | WebhooksModule> =
  await createTollgate({
    store,
    secret: "a secret for this check of the package only",
    tokens: [{ token, account: "acme" }],
    publicUrl: "http://localhost",
    logger: { debug: () => {}, info: () => {}, warn: console.warn, error: console.error },
    modules: [adminConsole(), decisions(), deployments(sites({ folder })), webhooks()]
  })
const production = gate.account("acme").keyBucket("production")

const app = express()
app.use("/api", tollgate(gate))
app.get("/hello", requireApiKey(production, { rateLimit: { limit: 1, per: "hour" } }), (req, res) => {
  res.send(`Hello, ${req.consumer?.name}`)
})
const server = app.listen(0)
const address = server.address()
assert.ok(typeof address === "object" && address !== null)
const url = `http://127.0.0.1:${address.port}`

export const client = createClient({ baseUrl: `${url}/api`, token, modules: [webhooksClient] })
const remote = client.account("acme")
const alice = await remote.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
const headers = { authorization: `Bearer ${alice.apiKeys?.[0]?.key}` }
const hello = await fetch(`${url}/hello`, { headers })
assert.equal(await hello.text(), "Hello, alice")
const second = await fetch(`${url}/hello`, { headers })
assert.equal(second.status, 429)
assert.match(await second.text(), /"code":"rate-limited"/)
assert.equal((await fetch(`${url}/hello`)).status, 401)
assert.equal((await remote.webhooks.list()).total, 0)

// An error is one class, whichever entry point it came through, and its stack begins in this file.
assert.equal(ConsumerNotFound, RemoteConsumerNotFound)
const firstFrame = (error: Error): string => error.stack?.split("\n").find((line) => /^ +at /.test(line)) ?? ""
const failures = [
  () => production.consumers.get("bob"),
  () => remote.keyBucket("production").consumers.get("bob"),
  () => SqliteStore.open(join(folder, "missing", "tollgate.db")),
  // @ts-expect-error: an option of the wrong type
  () => createTollgate({ store, secret: 1 })
]
for (const fail of failures) {
  const error = await fail().then(
    () => assert.fail("did not fail"),
    (error: Error) => error
  )
  assert.match(firstFrame(error), /program\.ts/, error.stack)
}
await assert.rejects(remote.keyBucket("production").consumers.get("bob"), ConsumerNotFound)

// A worker thread unpacks the archive of a deployment.
const { uploadUrl } = await gate.account("acme").project("web").deployments.createSource({ branchName: "main" })
const header = Buffer.alloc(512)
header.write("index.html")
header.write("0000644\0", 100)
header.write("00000000005\0", 124)
header.write("        0", 148)
header.write("ustar\u000000", 257)
const sum = header.reduce((total, byte) => total + byte, 0)
header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
const page = Buffer.alloc(512)
page.write("built")
const archive = gzipSync(Buffer.concat([header, page, Buffer.alloc(1024)]))
const uploaded = await gate.account("acme").project("web").deployments.upload(uploadUrl, archive)
for await (const _ of gate.account("acme").project("web").deployments.followLog(uploaded.id));
const [deployment] = (await gate.account("acme").project("web").deployments.list()).data
assert.equal(await (await gate.handler(new Request(deployment?.url ?? ""))).text(), "built")

server.close()
server.closeAllConnections()
await gate.close()
await store.close()
