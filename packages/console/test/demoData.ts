/**
 * An account as a small company would have it, for the screenshots: customers with keys, plans, a month of usage, a site
 * with two branches and a webhook.
 */
import { eventually } from "@tollgate/testing"
import { makeArchive } from "../../sites/test/archives.ts"
import type { ConsoleGate } from "./consoleServer.ts"

const dayMs = 86_400_000

/** How many days of usage there are. */
export const demoDays = 30

const customers = [
  { name: "northwind", plan: "pro", scale: 1 },
  { name: "contoso", plan: "pro", scale: 0.7 },
  { name: "fabrikam", plan: "free", scale: 0.115 },
  { name: "tailspin", plan: "free", scale: 0.07 },
  { name: "wingtip", plan: "free", scale: 0.03 }
]

const plans = [
  {
    label: "free",
    meters: { requests: { label: "Requests", max: 1_000 }, tokens: { label: "Tokens", max: 50_000 } },
    rateLimits: { default: { limit: 600, per: "minute" as const } }
  },
  {
    label: "pro",
    meters: { requests: { label: "Requests", max: 10_000 }, tokens: { label: "Tokens", max: 500_000 } },
    rateLimits: { default: { limit: 6_000, per: "minute" as const } }
  }
]

/** The share of a usual day: less at weekends, a little more each week. */
const getShare = (day: number, weekday: number): number =>
  (weekday === 0 || weekday === 6 ? 0.45 : 1) * (0.8 + (day % 7) * 0.05) * (1 + day / 60)

/** Adds the data. `setTime` sets the clock of the gate and of its store. */
export const addDemoData = async (
  gate: ConsoleGate,
  now: number,
  setTime: (milliseconds: number) => void,
  webhookUrl: string
): Promise<void> => {
  setTime(now - demoDays * dayMs)
  const acme = gate.account("acme")
  await acme.webhooks.create({ url: webhookUrl, description: "Billing", events: ["consumer.*", "quota.*"] })
  const production = acme.keyBucket("production")
  const { consumers, keys } = production
  const metering = await acme.meteringBuckets.ensure("production")
  for (const plan of plans) await metering.plans.create(plan)
  const subscriptions = new Map<string, string>()
  const apiKeys = new Map<string, string>()
  for (const { name, plan } of customers) {
    const created = await consumers.create(
      { name, description: `${name} Ltd.`, tags: { plan, region: name.length % 2 === 0 ? "eu" : "us" } },
      { withApiKey: true }
    )
    apiKeys.set(name, created.apiKeys[0].key ?? "")
    await keys.create(name, { description: "Continuous integration", scopes: ["orders:read", "orders:write"] })
    const { id } = await metering.subscriptions.create({ customerKey: name, planExternalIds: [plan] })
    subscriptions.set(name, id)
  }
  for (let day = 0; day <= demoDays; day++) {
    const time = now - (demoDays - day) * dayMs
    setTime(time)
    const share = getShare(day, new Date(time).getUTCDay())
    for (const { name, scale } of customers) {
      const requests = Math.max(1, Math.round(260 * scale * share))
      await metering.usage.consume(subscriptions.get(name) ?? "", { requests, tokens: requests * 47 })
      const key = apiKeys.get(name)
      for (let count = 0; count < requests / 10; count++) await production.authorize(key)
      if (day % 5 === name.length % 5) await production.authorize(key, { scopes: ["orders:write"] })
    }
  }
  setTime(now)
  for (let count = 0; count < 3; count++) await production.authorize("not-a-key-that-anybody-has")
  await eventually(async () => {
    if ((await acme.decisions.list("production")).data.length === 0) throw new Error("No refusal is written yet")
  })
  const { deployments } = acme.project("website")
  for (const branchName of ["main", "new-prices"]) {
    const { uploadUrl } = await deployments.createSource({ branchName })
    const archive = makeArchive({ name: "index.html", content: "<h1>It works</h1>" })
    const { id } = await deployments.upload(uploadUrl, archive)
    await eventually(async () => {
      const { status } = await deployments.status(id)
      if (status !== "SUCCESS") throw new Error(`The deployment is ${status}`)
    })
  }
}
