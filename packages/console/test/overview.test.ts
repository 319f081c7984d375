import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { acmeToken, type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"
import { expectNoMarkup, expectNoSideScroll, hostileText, readRows } from "./pageChecks.ts"

let browser: Browser
let server: ConsoleServer
/** An endpoint that is gone: it disables the webhooks that are sent to it. */
let goneEndpoint: Server

const usageDates = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" })
const counts = new Intl.NumberFormat("en")

/** A metering bucket with usage near the end of a quota. Returns its id and that of the subscription. */
const createUsage = async () => {
  const billing = await server.gate.account("acme").meteringBuckets.ensure("billing")
  await billing.plans.create({
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: 1_000 }, tokens: { max: 50 } }
  })
  const { id } = await billing.subscriptions.create({ customerKey: hostileText, planExternalIds: ["pro"] })
  // Reaches 80 % of the requests, then all of them: one event each.
  await billing.usage.consume(id, { requests: 850, tokens: 3 })
  await billing.usage.consume(id, { requests: 150 })
  return { billing, subscriptionId: id }
}

const createFailures = async (): Promise<void> => {
  const acme = server.gate.account("acme")
  const { deployments } = acme.project("web")
  const { uploadUrl } = await deployments.createSource({ branchName: "main" })
  await deployments.upload(uploadUrl, Buffer.from("this is no archive"))
  const { port } = goneEndpoint.address() as AddressInfo
  const { id } = await acme.webhooks.create({ url: `http://127.0.0.1:${port}/gone` })
  await acme.webhooks.test(id)
}

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  goneEndpoint = createServer((_, res) => res.writeHead(410).end()).listen(0, "127.0.0.1")
  await once(goneEndpoint, "listening")
}, 120_000)
afterAll(async () => {
  await closePages(browser)
  await server?.close()
  goneEndpoint?.close()
})

/** Waits until the log has an event of a type: it arrives a moment after its change. */
const waitForEvent = (type: "deployment.failed" | "webhook.disabled" | "quota.threshold_reached", count = 1) =>
  expect.poll(async () => (await server.gate.account("acme").events.list({ type })).total).toBe(count)

describe("the overview of the console", { timeout: 120_000 }, () => {
  it("says what to do first in an empty account", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/new-account" })
    await page.getByRole("heading", { name: "Nothing exists in this account yet" }).waitFor()
    await expectAccessible(page)
    await page.getByRole("link", { name: "Create a metering bucket and a plan" }).click()
    await page.getByRole("heading", { name: "Metering", level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  // At the turn of an hour, the page and the test may have read different steps.
  it("shows what exists, the usage of 30 days, quotas near their end, and what failed", { retry: 1 }, async () => {
    const acme = server.gate.account("acme")
    for (const name of ["alice", "bob"]) await acme.keyBucket("production").consumers.create({ name })
    await acme.keyBucket("staging").consumers.create({ name: "carol" })
    const { billing, subscriptionId } = await createUsage()
    await createFailures()
    await waitForEvent("deployment.failed")
    await waitForEvent("webhook.disabled")
    await waitForEvent("quota.threshold_reached", 2)

    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme" })
    const readCard = async (title: string): Promise<string> => {
      const card = page.locator(".card", { has: page.getByRole("link", { name: title, exact: true }) })
      return (await card.locator("strong").textContent()) ?? ""
    }
    await page.getByRole("link", { name: "Consumers", exact: true }).last().waitFor()
    await page.locator(".card").first().waitFor()
    expect({
      consumers: await readCard("Consumers"),
      subscriptions: await readCard("Subscriptions"),
      plans: await readCard("Plans"),
      meteringBuckets: await readCard("Metering buckets"),
      projects: await readCard("Projects"),
      webhooks: await readCard("Webhooks")
    }).toEqual({ consumers: "3", subscriptions: "1", plans: "1", meteringBuckets: "1", projects: "1", webhooks: "1" })
    await page.getByText("production 2").waitFor()

    await page
      .getByRole("img", { name: /^Usage in billing/ })
      .locator("canvas")
      .first()
      .waitFor()
    await page.getByText("Show as a table").click()
    const usage = await billing.usage.totals()
    expect(usage.data).toHaveLength(30)
    expect(usage.data.at(-1)?.meters).toEqual({ requests: 1_000, tokens: 3 })
    expect(await readRows(page, "Usage in billing, as a table")).toEqual(
      usage.data.map(({ start, meters }) => [
        usageDates.format(new Date(start)),
        counts.format(meters["requests"] ?? 0),
        counts.format(meters["tokens"] ?? 0)
      ])
    )

    const [alert = [], ...others] = await readRows(page, "Customers near the end of a quota")
    expect(others).toEqual([])
    expect(alert[0]).toBe(hostileText)
    expect(alert[1]).toContain("1,000 of 1,000")

    const failures = (await readRows(page, "Failures")).map(([, what, why]) => `${what}: ${why}`)
    expect(failures).toContainEqual(expect.stringMatching(/^Deployment web-main-\w+: source-rejected$/))
    expect(failures).toContainEqual(expect.stringMatching(/^Webhook http:\/\/127.0.0.1:\d+\/gone was disabled: .*410/))
    expect(failures).toContainEqual(expect.stringMatching(/^Delivery of webhook\.test to http:.*\/gone: .*410/))
    const deployment = page.getByRole("link", { name: /^Deployment web-main-/ })
    expect(await deployment.getAttribute("href")).toMatch(/^#\/accounts\/acme\/deployments\/web\/web-main-\w+$/)
    await expectNoMarkup(page)
    await expectAccessible(page)

    await page.getByRole("link", { name: hostileText }).click()
    await page.getByRole("heading", { name: `Subscription of ${hostileText}` }).waitFor()
    expect(page.url()).toContain(subscriptionId)
    await page.goBack()
    await page.getByRole("link", { name: /^Webhook .* was disabled/ }).click()
    await page.waitForURL(/#\/accounts\/acme\/webhooks\/whk_\w+$/)
    expect(errors).toEqual([])
    await close()
  })

  it("leaves out a webhook that was enabled again", async () => {
    const acme = server.gate.account("acme")
    const { data } = await acme.webhooks.list()
    for (const { id } of data) await acme.webhooks.update(id, { state: "enabled" })
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme" })
    await page.getByRole("table", { name: "Failures" }).waitFor()
    expect(await page.getByText("was disabled").count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("shows the latest events, with links to the log", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme",
      token: acmeToken
    })
    const { data } = await server.gate.account("acme").events.list({ limit: 10 })
    const rows = await readRows(page, "Events, newest first")
    expect(rows.map(([, type]) => type)).toEqual(data.map(({ type }) => type))
    await page.getByRole("link", { name: "All events" }).click()
    await page.waitForURL(/#\/accounts\/acme\/events$/)
    expect(errors).toEqual([])
    await close()
  })

  it("makes a bounded number of requests, however many buckets there are", async () => {
    const many = server.gate.account("many")
    for (let index = 0; index < 8; index++) {
      await many.meteringBuckets.ensure(`bucket-${index}`)
      await many.keyBucket(`bucket-${index}`).consumers.create({ name: "alice" })
    }
    const before = server.responses.length
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/many",
      token: readToken
    })
    await page.getByText("Counted in the first 5 key buckets of 8.").waitFor()
    await page.getByText("Counted in the first 5 metering buckets of 8.").waitFor()
    await expect.poll(() => page.getByText("Nothing was used in the last 30 days").count()).toBe(5)
    await page.waitForLoadState("networkidle")
    const requests = server.responses.slice(before).filter((response) => response.includes("/v1/"))
    expect(requests.length).toBeLessThanOrEqual(30)
    expect(errors).toEqual([])
    await close()
  })

  it("fits a screen of 375 pixels, and redraws plots when the colours or the size change", async () => {
    const context = { viewport: { width: 375, height: 800 } }
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme", context })
    const canvas = page
      .getByRole("img", { name: /^Usage in billing/ })
      .locator("canvas")
      .first()
    await canvas.waitFor()
    await expectNoSideScroll(page)
    const readPixels = () => page.evaluate("document.querySelector('.plot canvas').toDataURL()")
    await page.emulateMedia({ colorScheme: "light" })
    const light = await readPixels()
    await page.emulateMedia({ colorScheme: "dark" })
    await expect.poll(readPixels).not.toBe(light)
    await page.setViewportSize({ width: 900, height: 800 })
    await expect.poll(async () => (await canvas.boundingBox())?.width).toBeGreaterThan(500)
    await page.setViewportSize({ width: 375, height: 800 })
    await expect.poll(async () => (await canvas.boundingBox())?.width).toBeLessThan(375)
    await expectNoSideScroll(page)
    expect(errors).toEqual([])
    await close()
  })
})
