/** Why requests are refused, as people see it who answer customers. */
import { makeAuthorizeRequest } from "@tollgate/protect"
import { eventually } from "@tollgate/testing"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectNoMarkup, expectNoSideScroll, hostileText, readRows } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer, writeToken } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer
const keys = { active: "", disabled: "" }

const production = () => server.gate.account("acme").keyBucket("production")

/** Sends a request to a protected route. */
const send = async (key: string, requestId: string) => {
  const authorize = makeAuthorizeRequest(production(), { scopes: ["orders:read"] })
  const header = (name: string) => ({ authorization: `Bearer ${key}`, "x-request-id": requestId })[name]
  const request = { header, query: () => undefined, ip: () => "203.0.113.7", route: () => `GET ${hostileText}` }
  return authorize(request, {})
}

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  const { consumers, keys: apiKeys } = production()
  await consumers.create({ name: "alice" })
  const scopes = ["orders:read"]
  const disabled = await apiKeys.create("alice", { scopes })
  keys.disabled = disabled.key ?? ""
  keys.active = (await apiKeys.create("alice", { scopes })).key ?? ""
  await apiKeys.update("alice", disabled.id, { disabled: true })
  expect((await send(keys.active, "allowed-1")).allowed).toBe(true)
  for (let index = 1; index <= 3; index++)
    expect(await send(keys.disabled, `refused-${index}`)).toMatchObject({ allowed: false, status: 401 })
  expect(await send("made-up", "stranger-1")).toMatchObject({ allowed: false, status: 401 })
  // They are written up to ten seconds late.
  const { decisions } = server.gate.account("acme")
  await eventually(async () => {
    const { data } = await decisions.outcomes("production")
    const refused = data.flatMap((step) => Object.values(step.refused))
    expect([
      data.reduce((sum, { allowed }) => sum + allowed, 0),
      refused.reduce((sum, count = 0) => (sum ?? 0) + count, 0)
    ]).toEqual([1, 4])
  })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

describe("refused requests in the console", () => {
  it("are counted on the overview, and listed by reason behind each number", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme" })
    const outcomes = page.getByRole("list", { name: "Requests in production, last 30 days, by outcome" })
    await outcomes.waitFor()
    const texts = await outcomes.getByRole("listitem").allTextContents()
    expect(texts).toEqual(["1 allowed", "4 refused", "3 disabled-key", "1 malformed-key"])
    await expectAccessible(page)
    await page.getByLabel("Period").selectOption("day")
    await page.getByRole("img", { name: /^Requests in production, last 24 hours/ }).waitFor()
    await outcomes.waitFor({ state: "detached" })
    await page.getByRole("link", { name: "1 malformed-key" }).click()
    await page.getByRole("heading", { name: "Refused requests in production", level: 1 }).waitFor()
    const [row = [], ...others] = await readRows(page, "Refused requests, newest first")
    expect(others).toEqual([])
    expect(row[1]).toContain("malformed-key")
    expect(row[4]).toMatch(/^unknown, [\w-]{12}/)
    expect(errors).toEqual([])
    await close()
  })

  it("are found by the id of the request, with the consumer and the key", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/consumers/production"
    })
    await page.getByRole("link", { name: "Refused requests" }).click()
    await page.getByLabel("Request id").fill("refused-2")
    await page.getByRole("button", { name: "Find" }).click()
    await page.waitForURL(/requestId=refused-2/)
    await page.getByRole("table", { name: "Refused requests, newest first" }).waitFor()
    await expect.poll(() => page.getByRole("row", { name: /malformed-key/ }).count()).toBe(0)
    const [row = []] = await readRows(page, "Refused requests, newest first")
    expect(row[1]).toContain("the key is disabled")
    expect(row[3]).toBe("alice")
    expect(row[5]).toBe(`GET ${hostileText}`)
    expect(row[6]).toBe("203.0.113.7")
    await expectNoMarkup(page)
    await expectAccessible(page)
    await page.getByLabel("Request id").fill("never-sent")
    await page.getByRole("button", { name: "Find" }).click()
    await page.getByRole("heading", { name: "No refused request found" }).waitFor()
    await page.getByRole("button", { name: "Clear filters" }).click()
    await page.getByRole("link", { name: "alice" }).first().click()
    await page.getByRole("heading", { name: "alice", level: 1 }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("are found by the search, by the id of the request and the end of the key", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme" })
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    await page.keyboard.press("/")
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Search for").fill(keys.disabled.slice(-4))
    await page.keyboard.press("Enter")
    await dialog.getByRole("link", { name: / of alice$/ }).waitFor()
    const before = server.responses.length
    await dialog.getByLabel("Search for").fill(keys.disabled)
    await page.keyboard.press("Enter")
    await dialog.getByText("This is a key or a token").waitFor()
    expect(server.responses.slice(before).filter((response) => response.includes(keys.disabled.slice(0, 12)))).toEqual(
      []
    )
    await dialog.getByLabel("Search for").fill("refused-3")
    await page.keyboard.press("Enter")
    await dialog.getByRole("link", { name: "disabled-key: alice" }).click()
    await page.getByRole("heading", { name: "Refused requests in production", level: 1 }).waitFor()
    await page
      .getByRole("row", { name: /disabled-key/ })
      .first()
      .waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("are on the page of their consumer, which fits a phone", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/consumers/production/alice",
      context: { viewport: { width: 375, height: 800 } }
    })
    const rows = await readRows(page, "Refused requests, newest first")
    expect(rows.every((row) => row[1]?.includes("disabled-key"))).toBe(true)
    const outcomes = page.getByRole("list", { name: "Requests of the last 30 days, by outcome" })
    expect(await outcomes.getByRole("listitem").allTextContents()).toEqual(["1 allowed", "3 refused", "3 disabled-key"])
    await expectNoSideScroll(page)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("have their reason told from the key alone", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/consumers/production"
    })
    await page.getByLabel("Key value").fill(keys.disabled)
    await page.getByRole("button", { name: "Verify" }).click()
    await page.getByText("Not valid: the key is disabled").waitFor()
    expect(page.url()).not.toContain(keys.disabled)
    await page.getByRole("status").or(page.locator(".notice")).getByRole("link", { name: "alice" }).click()
    await page.getByRole("heading", { name: "alice", level: 1 }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("are not shown to a token that may not see them", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/consumers/production",
      token: readToken
    })
    await page.getByRole("link", { name: "alice" }).waitFor()
    expect(await page.getByRole("link", { name: "Refused requests" }).count()).toBe(0)
    await page.getByRole("link", { name: "alice" }).click()
    await page.getByRole("heading", { name: "Latest events" }).waitFor()
    expect(await page.getByRole("heading", { name: "Requests" }).count()).toBe(0)
    await page.getByRole("link", { name: "Overview" }).click()
    await page.getByRole("heading", { name: "Latest events" }).waitFor()
    expect(await page.getByRole("heading", { name: "Requests" }).count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("need the module: without it a page says so", async () => {
    const plain = await startConsoleServer({ hasModules: false })
    try {
      await plain.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
      const { page, close } = await openConsole(browser, plain.origin, {
        path: "/accounts/acme/consumers/production/alice",
        token: writeToken
      })
      await page.getByRole("heading", { name: "Latest events" }).waitFor()
      await expect.poll(() => page.getByRole("heading", { name: "Requests" }).count()).toBe(0)
      await page.evaluate("location.hash = '#/accounts/acme/refusals/production'")
      await page.getByRole("heading", { name: "This server keeps no log of decisions" }).waitFor()
      await close()
    } finally {
      await plain.close()
    }
  })
})
