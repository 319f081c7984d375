/**
 * A SaaS API: customers sign up, call it with a key, use what their plan gives, pay for more, and cancel.
 */
import { randomUUID } from "node:crypto"
import express, { type Request, type RequestHandler } from "express"
import type { CustomerHandle, PlanCreateInput, Tollgate } from "tollgate"
import { requireApiKey, tollgate } from "tollgate/express"
import type { PortalModule } from "tollgate/portal"
import { receiveWebhooks } from "./receiveWebhooks.ts"

const plans: ReadonlyArray<PlanCreateInput> = [
  {
    planExternalId: "free",
    meters: { requests: { max: 100 }, tokens: { max: 2_000 } },
    rateLimits: { steady: { limit: 5, per: "second" } }
  },
  {
    planExternalId: "pro",
    meters: { requests: { max: 10_000 }, tokens: { max: 100_000 } },
    rateLimits: { steady: { limit: 50, per: "second" } },
    features: { exports: true }
  }
]

/** What customers can buy, and what they get when an order is paid, once for each order. */
const products = new Map<string, (customer: CustomerHandle, order: string) => Promise<unknown>>([
  ["pro", ({ changePlan }, order) => changePlan({ planExternalIds: ["pro"], at: "now" }, { idempotencyKey: order })],
  ["tokens", ({ grants }, order) => grants.create({ meter: "tokens", amount: 50_000, externalId: order })]
])

/** Your payment provider and your language model. */
export interface Services {
  /** Returns the page on which the customer pays. */
  readonly checkout: (customer: string, product: string) => Promise<string>
  readonly paymentSecret: string
  readonly askModel: (prompt: string, maxTokens: number) => Promise<{ readonly text: string; readonly tokens: number }>
}

/** What the provider sends. */
export interface Payment {
  readonly type: string
  readonly data: { readonly order: string; readonly customer: string; readonly product: string }
}

export const createApp = async (gate: Tollgate<PortalModule>, { checkout, paymentSecret, askModel }: Services) => {
  const acme = gate.account("acme")
  const production = acme.keyBucket("production")
  const billing = await acme.meteringBuckets.ensure("default")
  await billing.plans.ensure(plans)

  const app = express()
  app.use("/admin", tollgate(gate)) // the HTTP API and the console for your team, the portal for customers

  // What you sell: routes that need a key, and count.
  const meteringBucketId = billing.id
  const metering = { meteringBucketId, meters: { requests: 1 } }
  app.get("/api/hello", requireApiKey(production, { metering }), (req, res) => {
    res.json({ hello: req.consumer?.name, remaining: req.consumer?.remaining })
  })
  app.get("/api/export", requireApiKey(production, { metering, features: ["exports"] }), (_req, res) => {
    res.type("text/csv").send("id,total\n1,20\n")
  })

  // What an answer costs is known afterwards: hold the most that it can be, then settle what it was.
  const maxAnswer = 500
  const toUpperBound = ({ body }: Request) => ({ tokens: String(body?.prompt).length + maxAnswer })
  const holdTokens = requireApiKey(production, { metering: { meteringBucketId }, reserve: toUpperBound })
  app.post("/api/answers", express.json(), holdTokens, async (req, res) => {
    const { text, tokens } = await askModel(String(req.body?.prompt), maxAnswer)
    req.consumer?.settle?.({ tokens: Math.min(tokens, toUpperBound(req).tokens) })
    res.json({ text, tokens })
  })

  // Sign-up. The users and their sessions are yours: here, a session is a random cookie.
  const sessions = new Map<string, string>()
  app.post("/sign-up", express.json(), async (req, res) => {
    const [customer, session] = [randomUUID(), randomUUID()]
    const subscription = { meteringBucket: "default", planExternalIds: ["free"] }
    const consumer = { name: customer, managers: [String(req.body?.email)], subscription }
    const { apiKeys } = await production.consumers.create(consumer, { withApiKey: true })
    sessions.set(session, customer)
    res.cookie("session", session, { httpOnly: true, sameSite: "strict", secure: true })
    res.status(201).json({ customer, key: apiKeys[0].key })
  })

  // The customer's own pages: keys and usage in the portal, what can be bought, and the way out.
  const forCustomer =
    (handle: (customer: CustomerHandle) => Promise<unknown>): RequestHandler =>
    async (req, res) => {
      const customer = sessions.get(/(?:^|; )session=([^;]+)/.exec(req.headers.cookie ?? "")?.[1] ?? "")
      if (customer === undefined) return void res.status(401).json({ error: "Sign up first" })
      res.json(await handle(billing.customer(customer)))
    }
  const readUsage = async ({ get, series }: CustomerHandle) => {
    const { meters, pendingChange } = await get()
    return { meters, pendingChange, days: (await series({ step: "day" })).data }
  }
  app.get("/my/usage", forCustomer(readUsage))
  const openPortal = ({ customerKey }: CustomerHandle) => acme.portalSessions.create("production", customerKey)
  app.post("/my/portal", forCustomer(openPortal))
  for (const product of products.keys()) {
    const order = async ({ customerKey }: CustomerHandle) => ({ payAt: await checkout(customerKey, product) })
    app.post(`/my/orders/${product}`, forCustomer(order))
  }
  const cancel = async (customer: CustomerHandle) => (await customer.cancel({ at: "period-end" })).pendingChange
  app.delete("/my/plan", forCustomer(cancel))

  // The provider says that an order is paid, perhaps twice.
  const onPayment = async ({ type, data: { order, customer, product } }: Payment) => {
    if (type === "order.paid") await products.get(product)?.(billing.customer(customer), order)
  }
  app.post("/webhooks/payments", receiveWebhooks(paymentSecret, onPayment))
  return app
}
