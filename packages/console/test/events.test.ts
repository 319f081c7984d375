/**
 * The event log in the console.
 */
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closePages, expectAccessible, launchBrowser, openConsole, passTimeUntil } from "./browser.ts"
import { acmeToken, type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

/** Waits until the log has this many events: an event appears in it within a second. */
const waitForLog = (account: string, total: number): Promise<void> =>
  expect.poll(async () => (await server.gate.account(account).events.list({ limit: 1 })).total).toBe(total)

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const rows = (page: Page) => page.getByRole("table", { name: "Events" }).locator("tbody tr")

/** The types that the filter offers. */
const listTypes = async (page: Page): Promise<Array<string>> =>
  (await page.evaluate("[...document.querySelectorAll('datalist option')].map(({ value }) => value)")) as Array<string>

describe("events in the console", () => {
  it("says what the log is for while it is empty, and shows the first event with a button", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/fresh/events",
      hasFakeTimers: true
    })
    await page.getByText("There is no event yet").waitFor()
    await expectAccessible(page)
    await server.gate.account("fresh").keyBucket("production").consumers.create({ name: "alice" })
    await waitForLog("fresh", 1)
    await passTimeUntil(page, page.getByRole("button", { name: "Show newer events" }))
    await page.getByRole("button", { name: "Show newer events" }).click()
    await page.getByRole("table", { name: "Events" }).getByText("consumer.created").waitFor()
    await page.getByRole("button", { name: "Refresh" }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("lists the newest first in pages that new events do not move", async () => {
    const { consumers } = server.gate.account("paged").keyBucket("production")
    for (let index = 0; index < 60; index++) await consumers.create({ name: `consumer-${index}` })
    await waitForLog("paged", 60)
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/paged/events",
      hasFakeTimers: true
    })
    await rows(page).first().getByText("consumer-59", { exact: true }).waitFor()
    expect(await rows(page).count()).toBe(50)
    await consumers.create({ name: "newcomer" })
    await waitForLog("paged", 61)
    await passTimeUntil(page, page.getByRole("button", { name: "Show newer events" }))
    // What is read stays in its place until the person asks.
    expect(await rows(page).first().textContent()).toContain("consumer-59")
    await page.getByRole("button", { name: "Older events" }).click()
    await rows(page).first().getByText("consumer-9", { exact: true }).waitFor()
    expect(await rows(page).count()).toBe(10)
    expect(page.url()).toContain("before=evt_")
    await page.getByRole("link", { name: "Newest events" }).click()
    await rows(page).first().getByText("newcomer").waitFor()
    await page.goBack()
    await rows(page).first().getByText("consumer-9", { exact: true }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("filters by type and subject in the address", async () => {
    const account = server.gate.account("filtered")
    const alice = await account.keyBucket("production").consumers.create({ name: "alice" })
    await account.keyBucket("production").consumers.create({ name: "bob" })
    await account.keyBucket("production").consumers.update("alice", { description: "changed" })
    await account.meteringBuckets.create({ name: "usage" })
    await waitForLog("filtered", 4)
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/filtered/events?type=consumer.*"
    })
    await rows(page).nth(2).waitFor()
    expect(await rows(page).count()).toBe(3)
    expect(await page.getByLabel("Type").inputValue()).toBe("consumer.*")
    const options = await listTypes(page)
    expect(options).toContain("consumer.*")
    expect(options).toContain("quota.threshold_reached")
    await page.getByLabel("Type").fill("consumer.updated")
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await expect.poll(() => rows(page).count()).toBe(1)
    expect(page.url()).toContain("type=consumer.updated")
    await page.getByLabel("Type").fill("no.such")
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await page.getByText("There is no such type").waitFor()
    expect(await page.getByLabel("Type").inputValue()).toBe("no.such")
    await page.getByLabel("Type").fill("")
    await page.getByLabel("About (id)").fill(alice.id)
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await expect.poll(() => rows(page).count()).toBe(2)
    await page.goBack()
    await expect.poll(() => rows(page).count()).toBe(1)
    expect(await page.getByLabel("Type").inputValue()).toBe("consumer.updated")
    await page.getByRole("button", { name: "Clear filters" }).click()
    await expect.poll(() => rows(page).count()).toBe(4)
    await page.getByLabel("Type").fill("plan.*")
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await page.getByText("No event found").waitFor()
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("shows all of an event as text, and leads to what it is about", async () => {
    const account = server.gate.account("details")
    const description = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
    await account
      .keyBucket("production")
      .consumers.create({ name: "alice", description }, { actor: "<b>ann@example.com</b>" })
    await waitForLog("details", 1)
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/details/events" })
    await page.getByText("your server (<b>ann@example.com</b>)").waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Details of consumer.created alice" }).click()
    const dialog = page.getByRole("dialog", { name: "consumer.created" })
    await dialog.getByText('"description": "<img src=x onerror=').waitFor()
    expect(await page.locator("img").count()).toBe(0)
    expect(await page.locator("main b, dialog b").count()).toBe(0)
    await expectAccessible(page)
    await dialog.getByRole("link", { name: "Open the consumer" }).click()
    await page.waitForURL(/#\/accounts\/details\/consumers\/production\/alice$/)
    await page.goBack()
    await page.getByRole("button", { name: "Details of consumer.created alice" }).click()
    await dialog.getByRole("button", { name: "All its events" }).click()
    await page.waitForURL(/subject=csmr_/)
    expect(errors).toEqual([])
    await close()
  })

  it("links what the events tell the place of, and nothing that was deleted", async () => {
    const account = server.gate.account("links")
    const webhook = await account.webhooks.create({ url: "http://127.0.0.1:9/", events: ["plan.*"] })
    const bucket = await account.meteringBuckets.create({ name: "usage" })
    const plan = await account.meteringBucket(bucket.id).plans.create({ label: "Free", meters: { calls: { max: 5 } } })
    const removed = await account.meteringBuckets.create({ name: "removed" })
    await account.meteringBuckets.remove(removed.id)
    await waitForLog("links", 5)
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/links/events" })
    const table = page.getByRole("table", { name: "Events" })
    await table.getByRole("link", { name: webhook.id }).waitFor()
    expect(await table.getByRole("link", { name: "usage", exact: true }).getAttribute("href")).toBe(
      `#/accounts/links/metering/${bucket.id}`
    )
    const deletedRow = table.getByRole("row").filter({ hasText: "metering_bucket.deleted" })
    expect(await deletedRow.getByRole("link").count()).toBe(0)
    await page.getByRole("button", { name: `Details of plan.created ${plan.id}` }).click()
    await page.getByRole("link", { name: "Open the plan" }).click()
    await page.waitForURL(new RegExp(`#/accounts/links/metering/${bucket.id}/plans/${plan.id}$`))
    await page.goBack()
    await table.getByRole("link", { name: webhook.id }).click()
    await page.getByRole("heading", { name: "Webhook", exact: true }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("offers all types that the server knows", async () => {
    const description = (await (await fetch(`${server.origin}/v1/openapi.json`)).json()) as {
      readonly paths: Record<string, { readonly get: { readonly parameters: ReadonlyArray<EventParameter> } }>
    }
    const parameters = description.paths["/v1/accounts/{accountName}/events"]?.get.parameters ?? []
    const types = parameters.find(({ name }) => name === "type")?.schema.enum ?? []
    const { page, close } = await openConsole(browser, server.origin, { path: "/accounts/acme/events" })
    await page.locator("datalist option").first().waitFor({ state: "attached" })
    const options = await listTypes(page)
    expect(options.sort()).toEqual([...types].sort())
    await close()
  })

  it("shows why a link with a wrong filter fails, and reads again when the server is back", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      token: acmeToken,
      path: "/accounts/acme/events?type=no.such",
      hasFakeTimers: true
    })
    await page.getByRole("alert").getByText("Request id").waitFor()
    await page.evaluate("location.hash = '#/accounts/acme/events'")
    await page.getByText("There is no event yet").waitFor()
    await server.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
    await waitForLog("acme", 1)
    await server.pause()
    await page.getByRole("button", { name: /Refresh|Show newer events/ }).click()
    await page.getByText("The server cannot be reached. The console tries again").waitFor()
    await server.resume()
    await passTimeUntil(page, page.getByRole("table", { name: "Events" }).getByText("consumer.created"))
    expect(errors.filter((error) => !/400|ERR_CONNECTION/.test(error))).toEqual([])
    await close()
  })

  it("fits on a narrow screen, and works with a read-only token", async () => {
    const { consumers } = server.gate.account("narrow").keyBucket("production")
    await consumers.create({ name: "a".repeat(120), description: "d".repeat(500) })
    await waitForLog("narrow", 1)
    const { page, errors, close } = await openConsole(browser, server.origin, {
      token: readToken,
      path: "/accounts/narrow/events",
      context: { viewport: { width: 375, height: 700 } }
    })
    await rows(page).first().waitFor()
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true)
    await page.getByRole("button", { name: /^Details of/ }).click()
    await page.getByRole("dialog").waitFor()
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })
})

interface EventParameter {
  readonly name: string
  readonly schema: { readonly enum?: ReadonlyArray<string> }
}
