import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { eventually } from "@tollgate/testing"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectNoMarkup, expectNoSideScroll, hostileText, readRows } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { acmeToken, type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

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
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
  goneEndpoint?.close()
})

/** Waits until the log has an event of a type: it arrives a moment after its change. */
const waitForEvent = (type: "deployment.failed" | "webhook.disabled" | "quota.threshold_reached", count = 1) =>
  expect.poll(async () => (await server.gate.account("acme").events.list({ type })).total).toBe(count)

describe("the overview of the console", () => {
  it("says what to do first in an empty account", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/new-account" })
    await page.getByRole("heading", { name: "Nothing exists in this account yet" }).waitFor()
    await expectAccessible(page)
    await page.getByRole("link", { name: "Create a metering bucket and a plan" }).click()
    await page.getByRole("heading", { name: "Plans and usage", level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("shows what exists, the usage of 30 days, quotas near their end, and what failed", async () => {
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
      projects: await readCard("Projects"),
      webhooks: await readCard("Webhooks")
    }).toEqual({ consumers: "3", subscriptions: "1", plans: "1", projects: "1", webhooks: "1" })
    await page.getByText("production 2").waitFor()

    await page
      .getByRole("img", { name: /^Usage in billing/ })
      .locator("canvas")
      .first()
      .waitFor()
    const plot = page
      .getByRole("img", { name: /^Usage in billing/ })
      .locator(".u-over")
      .first()
    const { width = 0 } = (await plot.boundingBox()) ?? {}
    await plot.hover({ position: { x: width - 2, y: 20 } })
    await plot.getByText(/: 1,000$/).waitFor()
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
    expect(failures).toContainEqual(expect.stringMatching(/^Delivery of [\w.]+ to http:.*\/gone: Status 410/))
    const deployment = page.getByRole("link", { name: /^Deployment web-main-/ })
    expect(await deployment.getAttribute("href")).toMatch(/^#\/accounts\/acme\/deployments\/web\/web-main-\w+$/)
    await expectNoMarkup(page)
    await expectAccessible(page)

    const alerts = page.getByRole("table", { name: "Customers near the end of a quota" })
    await alerts.getByRole("link", { name: hostileText }).click()
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

  it("leaves out deployments and webhooks of a server that has none", async () => {
    const plain = await startConsoleServer({ hasModules: false })
    try {
      const { page, errors, close } = await openConsole(browser, plain.origin, { path: "/accounts/acme" })
      await page.getByRole("heading", { name: "Nothing exists in this account yet" }).waitFor()
      expect(await page.getByRole("link", { name: "Create a webhook" }).count()).toBe(0)
      await plain.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
      await page.reload()
      await page.getByText("Nothing: no deployment failed").waitFor()
      const titles = await page.locator(".card > a").allTextContents()
      expect(titles).toEqual(["Consumers", "Subscriptions", "Plans"])
      await page.evaluate("location.hash = '#/accounts/acme/webhooks'")
      await page.getByText("This server has no webhooks").waitFor()
      await expectAccessible(page)
      expect(errors.filter((error) => !error.includes("404"))).toEqual([])
      await close()
    } finally {
      await plain.close()
    }
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
    await page.getByText("Counted in the first 5 APIs of 8.").waitFor()
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

describe("the overview as a dashboard", () => {
  const now = () => server.gate.account("dash")

  beforeAll(async () => {
    const production = now().keyBucket("production")
    const metering = await now().meteringBuckets.ensure("default")
    await metering.plans.create({ label: "free", meters: { requests: { max: 10 }, tokens: { max: 1_000 } } })
    for (const [name, requests] of Object.entries({ alice: 3, bob: 9, carol: 10 })) {
      const { apiKeys } = await production.consumers.create({ name }, { withApiKey: true })
      await metering.subscriptions.create({ customerKey: name, planExternalIds: ["free"] })
      for (let count = 0; count < requests; count++)
        await production.authorize(apiKeys[0].key, {
          metering: { meteringBucketId: metering.id, meters: { requests: 1, tokens: name === "alice" ? 90 : 5 } }
        })
      if (name !== "carol") continue
      await production.authorize(apiKeys[0].key, {
        metering: { meteringBucketId: metering.id, meters: { requests: 1 } }
      })
    }
    await production.authorize("not-a-key")
    const { url } = await server.gate.createConsoleLink({ account: "dash", name: "Ann Lee", permissions: ["*"] })
    const exchanged = await fetch(`${server.origin}/console/session`, {
      method: "POST",
      body: JSON.stringify({ code: url.split("#code=")[1] })
    })
    const { token } = (await exchanged.json()) as { readonly token: string }
    await fetch(`${server.origin}/v1/accounts/dash/key-buckets/production/consumers/bob`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ description: "Asked for more" })
    })
    await eventually(async () => {
      if ((await now().decisions.list("production")).data.length < 2)
        throw new Error("The refusals are not written yet")
    })
  })

  it("shows requests by outcome, who is near a quota, who uses most and what people changed", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/dash?period=week" })
    const outcomes = page.getByRole("list", { name: "Requests in production, last 7 days, by outcome" })
    await outcomes.waitFor()
    const links = await outcomes.getByRole("link").allTextContents()
    expect(links.sort()).toEqual(["1 malformed-key", "1 over-quota", "2 refused", "22 allowed"])
    expect(await page.locator(".plot-legend > span").allTextContents()).toEqual(["401", "429 quota"])

    const near = await readRows(page, "Customers near the end of a quota")
    expect(near.map(([customer, use]) => `${customer} ${use}`)).toEqual([
      "carol requests10 of 10",
      "bob requests9 of 10"
    ])
    expect(await readRows(page, "Customers who used most requests this month")).toEqual([
      ["carol", "10"],
      ["bob", "9"],
      ["alice", "3"]
    ])
    await page.getByLabel("Meter").selectOption("tokens")
    await expect
      .poll(async () => (await readRows(page, "Customers who used most tokens this month"))[0])
      .toEqual(["alice", "270"])
    const [[who, what, about] = []] = await readRows(page, "Changes by people, newest first")
    expect([who, what, about?.trim()]).toEqual(["Ann Lee", "consumer.updated", "consumer bob"])
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("leads from each number to what it counts, and from a subscription to its consumers", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/dash" })
    await page.getByLabel("Period").selectOption("day")
    await page.getByRole("link", { name: "22 allowed" }).click()
    await page.waitForURL(/consumers\/production\?sort=-seen$/)
    await page.getByRole("link", { name: "carol" }).waitFor()
    await page.goBack()
    await page.getByRole("link", { name: "1 over-quota" }).click()
    await page
      .getByRole("table", { name: "Refused requests, newest first" })
      .getByRole("link", { name: "carol" })
      .waitFor()
    await page.goBack()
    const near = page.getByRole("table", { name: "Customers near the end of a quota" })
    await near.getByRole("link", { name: "bob", exact: true }).click()
    await page.getByRole("link", { name: "bob in production" }).click()
    await page.getByRole("heading", { name: "bob", level: 1 }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("skips lists of one: the only metering bucket opens, and another account is chosen in the menu", async () => {
    await server.gate.account("second").keyBucket("production").consumers.create({ name: "alice" })
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/dash" })
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Plans and usage" }).click()
    await page.getByRole("heading", { name: "default", level: 1 }).waitFor()
    await page.getByRole("link", { name: "Plans and usage" }).last().click()
    await page.getByRole("table", { name: "Metering buckets" }).waitFor()
    await page.getByLabel("Account", { exact: true }).selectOption("second")
    await page.waitForURL(/#\/accounts\/second$/)
    expect(errors).toEqual([])
    await close()
  })
})
