/**
 * A customer of the example, from sign-up to the end.
 */
import { once } from "node:events"
import type { RequestListener } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createTollgate } from "tollgate"
import { adminConsole } from "tollgate/console"
import { MemoryStore } from "tollgate/memory"
import { customerPortal } from "tollgate/portal"
import { webhooks } from "tollgate/webhooks"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { createApp } from "../src/app.ts"
import { createMailer } from "../src/mailer.ts"
import { askModel, pay, paymentSecret } from "../src/standIns.ts"

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

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: new Date("2027-01-15T12:00:00Z") }))
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  vi.useRealTimers()
})

/** The example, with a clock that tests move. */
const start = async () => {
  const gate = await createTollgate({
    store: MemoryStore.open({ clock: "caller" }),
    secret: "a-secret-of-32-characters-for-tests",
    modules: [
      webhooks({ allowPrivateNetworks: true }),
      adminConsole(),
      customerPortal({ name: "Acme", meteringBucket: "default" })
    ]
  })
  stops.push(gate.close)
  const checkout = vi.fn(async (_customer: string, product: string) => `https://pay.example/${product}`)
  const url = await listen(await createApp(gate, { checkout, paymentSecret, askModel }))

  const send = async (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      ...json
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text.startsWith("{") ? JSON.parse(text) : text }
  }
  const signUp = async (email = "alice@example.com") => {
    const { status, headers, body } = await send("POST", "/sign-up", {}, { email })
    const [cookie = ""] = headers.getSetCookie().map((line) => line.split(";")[0] ?? "")
    const call = (method: string, path: string, input?: unknown) =>
      send(method, `/api${path}`, { authorization: `Bearer ${body.key}` }, input)
    const visit = (method: string, path: string) => send(method, `/my${path}`, { cookie })
    const buy = (product: string, order: string) =>
      pay(`${url}/webhooks/payments`, { order, customer: body.customer, product })
    const readMeter = async (meter: string) => (await visit("GET", "/usage")).body.meters[meter]
    return { status, customer: body.customer as string, call, visit, buy, readMeter }
  }
  return { gate, checkout, url, send, signUp }
}

const hours = (count: number) => vi.setSystemTime(Date.now() + count * 3_600_000)

it("signs up a customer, whose requests count", async () => {
  const { send, signUp, gate } = await start()
  const alice = await signUp()
  expect(alice.status).toBe(201)
  const { status, body } = await alice.call("GET", "/hello")
  expect([status, body]).toEqual([200, { hello: alice.customer, remaining: { requests: 99 } }])
  expect(await alice.readMeter("requests")).toMatchObject({ remaining: 99 })
  const { total } = await gate
    .account("acme")
    .keyBucket("production")
    .consumers.list({ managerEmail: "alice@example.com" })
  expect(total).toBe(1)

  expect((await send("POST", "/sign-up", {}, { email: "alice" })).status).toBe(400)
  expect((await send("POST", "/sign-up")).status).toBe(400)
  expect((await send("GET", "/api/hello")).status).toBe(401)
  for (const path of ["/usage", "/orders/pro", "/portal", "/plan"]) {
    const method = path === "/usage" ? "GET" : path === "/plan" ? "DELETE" : "POST"
    expect((await send(method, `/my${path}`, { cookie: "session=guessed" })).status).toBe(401)
  }
})

it("limits each customer as the plan says, and nothing that is refused counts", async () => {
  const { signUp } = await start()
  const [alice, bob] = [await signUp(), await signUp("bob@example.com")]
  const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await alice.call("GET", "/hello")).status))
  expect(statuses.filter((status) => status === 200)).toHaveLength(5)
  expect(statuses.filter((status) => status === 429)).toHaveLength(15)
  expect(await alice.readMeter("requests")).toMatchObject({ remaining: 95 })
  expect((await bob.call("GET", "/hello")).status).toBe(200)
})

it("holds the most that an answer can cost, and settles what it has cost", async () => {
  const { signUp } = await start()
  const alice = await signUp()
  expect((await alice.call("POST", "/answers", { prompt: "hello" })).body).toEqual({ text: "HELLO", tokens: 5 })
  await vi.waitFor(async () => expect(await alice.readMeter("tokens")).toMatchObject({ remaining: 1_995 }), 60_000)
  // 1,995 are left, and this could cost 2,000.
  const refused = await alice.call("POST", "/answers", { prompt: "?".repeat(1_500) })
  expect([refused.status, refused.body.code]).toEqual([429, "quota-exceeded"])
  expect(await alice.readMeter("tokens")).toMatchObject({ remaining: 1_995 })
})

it("sells an upgrade and credit, once for each order that is paid", async () => {
  const { signUp, checkout, url } = await start()
  const alice = await signUp()
  expect((await alice.call("GET", "/export")).status).toBe(403)
  expect((await alice.visit("POST", "/orders/pro")).body).toEqual({ payAt: "https://pay.example/pro" })
  expect(checkout.mock.calls).toEqual([[alice.customer, "pro"]])
  expect((await alice.visit("POST", "/orders/constructor")).status).toBe(404)
  expect((await alice.call("GET", "/export")).status).toBe(403) // nobody has paid

  expect((await alice.buy("pro", "order-1")).status).toBe(204)
  expect((await alice.call("GET", "/export")).body).toBe("id,total\n1,20\n")
  for (const order of ["order-2", "order-2", "order-3"]) expect((await alice.buy("tokens", order)).status).toBe(204)
  expect(await alice.readMeter("tokens")).toMatchObject({ remaining: 200_000 })

  const data = { order: "order-4", customer: alice.customer, product: "tokens" }
  const forged = await pay(`${url}/webhooks/payments`, data, `whsec_${btoa("another secret of 24 byte")}`)
  expect(forged.status).toBe(400)
  expect((await fetch(`${url}/webhooks/payments`, { method: "POST", body: "{}" })).status).toBe(400)
  expect(await alice.readMeter("tokens")).toMatchObject({ remaining: 200_000 })
})

it("gives everything again in the next month, and nothing after a cancellation", async () => {
  const { signUp } = await start()
  const alice = await signUp()
  await alice.buy("pro", "order-1")
  for (let hour = 0; hour < 5; hour++) {
    await Promise.all(Array.from({ length: 50 }, () => alice.call("GET", "/hello")))
    hours(1)
  }
  expect(await alice.readMeter("requests")).toMatchObject({ remaining: 9_750 })
  vi.setSystemTime(new Date("2027-02-15T12:00:00Z"))
  expect(await alice.readMeter("requests")).toMatchObject({ remaining: 10_000 })

  const canceled = await alice.visit("DELETE", "/plan")
  expect(canceled.body).toMatchObject({ effectiveOn: "2027-03-15T12:00:00.000Z" })
  vi.setSystemTime(new Date("2027-03-15T11:59:59Z"))
  expect((await alice.call("GET", "/hello")).status).toBe(200)
  vi.setSystemTime(new Date("2027-03-15T12:00:00Z"))
  expect((await alice.call("GET", "/hello")).body.code).toBe("subscription-not-active")
  await alice.buy("pro", "order-2") // she returns
  expect((await alice.call("GET", "/hello")).status).toBe(200)
})

it("opens the portal, in which a customer makes a key that counts for her", async () => {
  const { signUp, url } = await start()
  const alice = await signUp()
  const portal = await alice.visit("POST", "/portal")
  expect(portal.body.url).toContain("/portal/#token=")
  const session = new URLSearchParams(portal.body.url.split("#")[1])
  const createKey = (path = session.get("path")) =>
    fetch(`${url}/admin/v1/${path}/portal/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${session.get("token")}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "Laptop" })
    })
  const { key } = (await (await createKey()).json()) as { readonly key: string }
  const response = await fetch(`${url}/api/hello`, { headers: { authorization: `Bearer ${key}` } })
  expect(await response.json()).toEqual({ hello: alice.customer, remaining: { requests: 99 } })

  const bob = await signUp("bob@example.com")
  expect((await createKey(session.get("path")?.replace(alice.customer, bob.customer))).status).toBe(403)
})

it("tells customers once when a quota is nearly used up", async () => {
  const { gate, signUp } = await start()
  const mails: Array<readonly [customer: string, text: string]> = []
  let mailer: RequestListener = () => undefined
  const url = await listen((req, res) => mailer(req, res))
  const { webhooks } = gate.account("acme")
  const { id, secret } = await webhooks.create({
    url: `${url}/webhooks/tollgate`,
    events: ["quota.threshold_reached"]
  })
  mailer = createMailer(secret, async (customer, text) => void mails.push([customer, text]))
  const alice = await signUp()
  await gate.account("acme").meteringBucket("default").customer(alice.customer).consume({ requests: 85 })
  const mail = [alice.customer, "You have used 85 of 100 requests."]
  await vi.waitFor(() => expect(mails).toEqual([mail]), 60_000)

  const readDelivery = async () => (await webhooks.deliveries(id)).data[0]
  await vi.waitFor(async () => expect(await readDelivery()).toMatchObject({ status: "succeeded" }), 60_000)
  await webhooks.retry(id, (await readDelivery())?.id ?? "")
  await vi.waitFor(async () => expect((await readDelivery())?.attempts).toHaveLength(2), 60_000)
  expect(mails).toEqual([mail])
  expect((await fetch(`${url}/webhooks/tollgate`, { method: "POST", body: "{}" })).status).toBe(400)
})
