/**
 * Every text that a tenant can set, hostile, on every page where it appears: it is shown as text and nothing of it runs.
 */
import { eventually } from "@tollgate/testing"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeArchive } from "../../sites/test/archives.ts"
import { closePages, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer } from "./consoleServer.ts"

const script = "window.hacked=true"
const hostile = `"><img src=x onerror="${script}"><script>${script}</script><svg onload=${script}>{{7*7}}javascript:${script}`
/** Names of tags and meters allow no such characters, but names that mean something to JavaScript. */
const reservedName = "constructor"

let browser: Browser
let server: ConsoleServer
/** The address of every page, and what of the hostile text it must show. */
const pages: Array<readonly [path: string, text: string]> = []

const addHostileData = async (): Promise<void> => {
  const acme = server.gate.account("acme")
  const { consumers, keys } = acme.keyBucket("production")
  await consumers.create({
    name: "mallory",
    description: hostile,
    tags: { [reservedName]: hostile.slice(0, 100), plan: "<b>free</b>" },
    metadata: { note: hostile, [reservedName]: { toString: hostile } },
    managers: [{ sub: hostile.slice(0, 200), email: "mallory@example.com" }]
  })
  await keys.create("mallory", { description: hostile })
  const metering = await acme.meteringBuckets.ensure("default")
  const plan = await metering.plans.create({
    label: hostile,
    planExternalId: hostile,
    meters: { [reservedName]: { label: hostile, max: 10 } }
  })
  const subscription = await metering.subscriptions.create({
    customerKey: "mallory",
    customerExternalId: hostile,
    subscriptionExternalId: hostile,
    planIds: [plan.id]
  })
  const other = await metering.subscriptions.create({ customerKey: hostile, planIds: [plan.id] })
  await metering.usage.consume(subscription.id, { [reservedName]: 10 })
  await metering.usage.consume(other.id, { [reservedName]: 10 })
  const webhook = await acme.webhooks.create({
    url: `http://127.0.0.1:9/${encodeURIComponent(hostile)}`,
    description: hostile
  })
  await acme.webhooks.test(webhook.id)
  const { deployments } = acme.project("web")
  const { uploadUrl } = await deployments.createSource({ branchName: hostile })
  const { id } = await deployments.upload(
    uploadUrl,
    makeArchive({ name: "index.html", content: "<h1>It works</h1>" }, { name: `../${hostile}`, content: hostile })
  )
  await eventually(async () => {
    const { status } = await deployments.status(id)
    if (status === "IN_PROGRESS") throw new Error("The deployment is in progress")
  })
  const [deployment] = (await deployments.list()).data
  // The name is in the events too, which follow within a second.
  await eventually(async () => {
    const types = (await acme.events.list({ limit: 100 })).data.map(({ type }) => type)
    for (const type of ["consumer.created", "plan.created", "quota.threshold_reached", "webhook.created"]) {
      if (!types.includes(type)) throw new Error(`There is no event ${type} yet`)
    }
  })
  const shown = "<script>"
  pages.push(
    ["/accounts/acme", "onerror"],
    ["/accounts/acme/consumers", "production"],
    ["/accounts/acme/consumers/production", shown],
    ["/accounts/acme/consumers/production/mallory", shown],
    [`/accounts/acme/metering`, "default"],
    [`/accounts/acme/metering/${metering.id}`, shown],
    [`/accounts/acme/metering/${metering.id}?tab=subscriptions`, shown],
    [`/accounts/acme/metering/${metering.id}?tab=usage`, reservedName],
    [`/accounts/acme/metering/${metering.id}/plans/${plan.id}`, shown],
    [`/accounts/acme/metering/${metering.id}/subscriptions/${subscription.id}`, shown],
    [`/accounts/acme/metering/${metering.id}/subscriptions/${other.id}`, shown],
    ["/accounts/acme/deployments", "web"],
    ["/accounts/acme/deployments/web", shown],
    [`/accounts/acme/deployments/web/${deployment?.name}`, shown],
    ["/accounts/acme/events", "consumer.created"],
    ["/accounts/acme/webhooks", shown],
    [`/accounts/acme/webhooks/${webhook.id}`, shown]
  )
}

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  await addHostileData()
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

describe("hostile texts", { timeout: 180_000 }, () => {
  it.each([1200, 375])("are shown as text on every page, %i pixels wide", async (width) => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme",
      context: { viewport: { width, height: 800 } }
    })
    page.on("dialog", (dialog) => void dialog.dismiss())
    for (const [path, text] of pages) {
      await page.goto(`${server.origin}/console/#${path}`)
      await page.getByText(text).first().waitFor({ state: "attached" })
      await page.waitForLoadState("networkidle")
      expect([path, await page.evaluate("window.hacked")]).toEqual([path, undefined])
      expect([path, await page.locator('img, svg:not(.icon, .sprite), iframe, [href^="javascript:"]').count()]).toEqual(
        [path, 0]
      )
      const scrollWidth = (await page.evaluate("document.documentElement.scrollWidth")) as number
      expect([path, scrollWidth <= width]).toEqual([path, true])
    }
    expect(errors).toEqual([])
    await close()
  })

  it("are shown as text in the details of every event", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme/events" })
    const buttons = page.getByRole("button", { name: /detail|show/i })
    await buttons.first().waitFor()
    const count = await buttons.count()
    expect(count).toBeGreaterThan(5)
    for (let index = 0; index < count; index++) {
      await buttons.nth(index).click()
      await page.locator("dialog pre").waitFor()
      expect(await page.evaluate("window.hacked")).toBeUndefined()
      await page.keyboard.press("Escape")
    }
    expect(errors).toEqual([])
    await close()
  })
})
