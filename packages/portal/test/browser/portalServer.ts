/**
 * A server with a customer that has a key, a plan, usage and refused requests, and its portal in Chromium.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { adminConsole, type ConsoleModule } from "@tollgate/console"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { tollgate } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"
import { customerPortal, type PortalModule, type PortalOptions } from "@tollgate/portal"
import { eventually } from "@tollgate/testing"
import express from "express"
import type { Browser, BrowserContextOptions } from "playwright-core"
import { type OpenPage, openPage } from "../../../ui/test/browser.ts"

export const staffToken = "a-token-of-those-who-answer-customers"
export const readToken = "a-token-that-may-only-read"

export const allPermissions = ["keys:read", "keys:write", "usage:read", "plan:change"] as const

type SessionOptions = NonNullable<
  Parameters<ReturnType<Tollgate<PortalModule>["account"]>["portalSessions"]["create"]>[2]
>

export interface PortalServer {
  readonly origin: string
  readonly gate: Tollgate<PortalModule | ConsoleModule>
  /** Opens the portal of alice in the browser. */
  readonly open: (
    browser: Browser,
    session?: SessionOptions,
    context?: BrowserContextOptions
  ) => Promise<OpenPage & { readonly sessionId: string }>
  readonly close: () => Promise<void>
}

export interface PortalServerOptions extends PortalOptions {
  readonly description?: string
  /** What the host calls a meter. */
  readonly meterLabel?: string
  /** The labels of the two plans. */
  readonly planLabels?: readonly [string, string]
  /** What the customer has used. */
  readonly used?: Readonly<Record<string, number>>
  readonly clock?: "caller"
}

/** A logo as a host would have it. */
export const logo = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4.5" cy="4.5" r="4.5" fill="#5b21b6"/></svg>')}`

export const startPortalServer = async ({
  description = "production",
  meterLabel = "API requests",
  planLabels = ["starter", "pro"],
  used = { requests: 620, exports: 5 },
  clock,
  ...options
}: PortalServerOptions = {}): Promise<PortalServer> => {
  const app = express()
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  const gate = await createTollgate({
    store: MemoryStore.open(clock === undefined ? {} : { clock }),
    secret: "test-secret-with-at-least-32-characters",
    publicUrl: origin,
    tokens: [
      { token: staffToken, account: "acme", name: "Ann of support" },
      { token: readToken, account: "acme", access: "read" }
    ],
    modules: [adminConsole(), customerPortal({ name: "Northwind", meteringBucket: "billing", ...options })]
  })
  app.use(tollgate(gate))
  app.get("/checkout", (_, res) => void res.send("<title>Checkout</title>"))
  const acme = gate.account("acme")
  const { consumers, keys } = acme.keyBucket("production")
  const billing = await acme.meteringBuckets.ensure("billing")
  const [starter, pro] = planLabels
  await billing.plans.create({
    label: starter,
    planExternalId: "starter",
    meters: { requests: { label: meterLabel, max: 1_000 }, exports: { label: "Exports", max: 5 } }
  })
  await billing.plans.create({
    label: pro,
    planExternalId: "pro",
    meters: { requests: { label: meterLabel, max: 50_000 } }
  })
  await consumers.create({ name: "alice", customerKey: "cus_1" })
  await keys.create("alice", { description })
  const { id } = await billing.subscriptions.create({ customerKey: "cus_1", planExternalIds: ["starter"] })
  await billing.usage.consume(id, used)
  return {
    origin,
    gate,
    open: async (browser, session = { allow: allPermissions }, context) => {
      const { url, id: sessionId } = await acme.portalSessions.create("production", "alice", session)
      return { ...(await openPage(browser, url, context === undefined ? {} : { context })), sessionId }
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await gate.close()
    }
  }
}

/** Lets the first key of alice be refused by a rate limit, and waits for the log. */
export const addRefusals = async ({ gate }: PortalServer, count: number): Promise<void> => {
  const acme = gate.account("acme")
  const production = acme.keyBucket("production")
  const { key } = await production.keys.create("alice", { description: "tests" })
  for (let index = 0; index <= count; index++) {
    await production.authorize(key, { rateLimits: [{ name: "steady", limit: 1, per: "day" }] })
  }
  await eventually(async () => {
    const { data } = await acme.decisions.listOfConsumer("production", "alice")
    if (data.reduce((sum, refusal) => sum + refusal.count, 0) < count)
      throw new Error("Not all refusals are written yet")
  })
}
