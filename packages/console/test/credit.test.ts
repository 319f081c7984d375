/** Credit of customers in the console: given, listed, low, and taken back. */
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectNoMarkup, expectNoSideScroll, hostileText, readRows } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  const metering = await getMetering()
  await metering.plans.create({ label: "free", meters: { requests: { max: 20 }, tokens: { max: 1_000 } } })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const getMetering = () => server.gate.account("acme").meteringBuckets.ensure("default")
const listGrants = async (customerKey: string) => (await (await getMetering()).customer(customerKey).grants.list()).data

/** A customer who has used up its requests. */
const createCustomer = async (name: string): Promise<{ readonly id: string; readonly bucket: string }> => {
  await server.gate.account("acme").keyBucket("production").consumers.create({ name }, { withApiKey: true })
  const metering = await getMetering()
  const { id } = await metering.subscriptions.create({ customerKey: name, planExternalIds: ["free"] })
  await metering.usage.consume(id, { requests: 20 })
  return { id, bucket: metering.id }
}

const openConsumer = (name: string, options: Parameters<typeof openConsole>[2] = {}) =>
  openConsole(browser, server.origin, { path: `/accounts/acme/consumers/production/${name}`, ...options })

const credit = (page: Page, name: string) => page.getByRole("table", { name: `Credit of ${name}` })

describe("credit in the console", () => {
  it("is given on the page of a customer until the quota resets, and listed with its reason", async () => {
    const { id } = await createCustomer("alice")
    const { page, errors, close } = await openConsumer("alice")
    await page.getByText("It has got no credit.").waitFor()
    await page.getByText("20 of 20").waitFor()
    await page.getByRole("button", { name: "Give credit in default" }).click()
    await expectAccessible(page)
    await page.getByLabel("Amount", { exact: true }).fill("500")
    await page.getByLabel("Expires").selectOption({ label: "when the quota resets" })
    await page.getByLabel("Reason").fill(hostileText)
    await page.getByRole("dialog").getByRole("button", { name: "Give credit" }).click()
    await page.getByText("20 of 520").waitFor()
    await page.getByText("requests: 500 of credit left").waitFor()
    const metering = await getMetering()
    const { resetsOn, meters } = await metering.usage.quotas(id)
    expect(meters["requests"]).toMatchObject({ remaining: 500, credit: 500 })
    const [grant] = await listGrants("alice")
    expect(grant).toMatchObject({ meter: "requests", amount: 500, expiresOn: resetsOn, reason: hostileText })
    const [row = []] = await readRows(page, "Credit of alice")
    expect([row[0], row[1], row[2]?.trim(), row[5]]).toEqual(["500 requests", "500", "active", hostileText])
    await expectNoMarkup(page)
    await expectAccessible(page)
    await credit(page, "alice").getByRole("link", { name: "500 requests" }).click()
    await page.getByRole("table", { name: "Events" }).getByText("grant.created").waitFor()
    expect(page.url()).toContain(`subject=${grant?.id}`)
    expect(errors).toEqual([])
    await close()
  })

  it("is said to be low on the page of the customer and on the overview, and can be taken back", async () => {
    const { id } = await createCustomer("bob")
    const metering = await getMetering()
    await metering.customer("bob").grants.create({ meter: "requests", amount: 100 })
    await metering.usage.consume(id, { requests: 90 })
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme" })
    const near = page.getByRole("table", { name: "Customers near the end of a quota" })
    await near.getByRole("row", { name: /bob.*110 of 120.*10 of credit left low credit/ }).waitFor()
    await expectAccessible(page)
    await page.evaluate("location.hash = '#/accounts/acme/consumers/production/bob'")
    await credit(page, "bob").getByText("low credit").waitFor()
    await page.getByRole("button", { name: "Take back 10 requests" }).click()
    await page.getByText("bob loses the 10 requests that are left.").waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Take back", exact: true }).last().click()
    await credit(page, "bob").getByText("voided").waitFor()
    await page.getByText("110 of 110").waitFor()
    expect(await listGrants("bob")).toMatchObject([{ state: "voided", used: 90 }])
    expect(await credit(page, "bob").getByRole("button").count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("is given beside the quota of a subscription, on a phone, until a date", async () => {
    const { id, bucket } = await createCustomer("carol")
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `/accounts/acme/metering/${bucket}/subscriptions/${id}`,
      context: { viewport: { width: 375, height: 800 } }
    })
    await page.getByRole("button", { name: "Give credit of tokens" }).click()
    await page.getByLabel("Amount", { exact: true }).fill("7")
    await page.getByLabel("Expires", { exact: true }).selectOption({ label: "on a date" })
    await page.getByLabel("Expires on").fill("2098-01-02T03:04")
    await expectNoSideScroll(page)
    await page.getByRole("dialog").getByRole("button", { name: "Give credit" }).click()
    await page.getByText("0 of 1,007").waitFor()
    await expectNoSideScroll(page)
    await expectAccessible(page)
    const expiresOn = (await page.evaluate("new Date('2098-01-02T03:04').toISOString()")) as string
    expect(await listGrants("carol")).toMatchObject([{ meter: "tokens", amount: 7, expiresOn }])
    expect(errors).toEqual([])
    await close()
  })

  it("shows those who may only read no buttons", async () => {
    await createCustomer("dave")
    await (await getMetering()).customer("dave").grants.create({ meter: "tokens", amount: 5 })
    const { page, errors, close } = await openConsumer("dave", { token: readToken })
    await credit(page, "dave").getByText("active").waitFor()
    expect(await page.getByRole("button", { name: /credit|Take back/ }).count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })
})
