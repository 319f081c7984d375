/** Tokens and sessions in the console. */
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectNoMarkup, expectNoSideScroll, hostileText, readRows } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer, writeToken } from "./consoleServer.ts"

const adminToken = "a-token-of-an-administrator"
let browser: Browser
let server: ConsoleServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer({
    tokens: [
      { token: writeToken, account: "*" },
      { token: adminToken, account: "*", permissions: ["admin"] }
    ]
  })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const callMe = async (token: string): Promise<number> =>
  (await fetch(`${server.origin}/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status

describe("people and tokens in the console", () => {
  it("creates a token for a role or single permissions, shows its value once, and revokes it", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/people",
      token: adminToken
    })
    await page.getByRole("button", { name: "Create token" }).click()
    const dialog = page.getByRole("dialog", { name: "Create a token" })
    await dialog.getByLabel("Whom or what it is for").fill(hostileText)
    await dialog.getByLabel("It may do").selectOption("")
    await dialog.getByLabel("Permissions").fill("Consumers read")
    await dialog.getByRole("button", { name: "Create token" }).click()
    await dialog.getByText("is no permission").waitFor()
    await expectAccessible(page)
    await dialog.getByLabel("Permissions").fill("consumers:read, keys:write")
    await dialog.getByRole("button", { name: "Create token" }).click()
    await page.getByText("Copy it now").waitFor()
    const value = (await page.locator(".secret").textContent()) ?? ""
    expect(await callMe(value)).toBe(200)
    await expectAccessible(page)
    await page.getByRole("button", { name: "Done" }).click()
    const [row = []] = await readRows(page, "Tokens of this account")
    expect([row[0], row[2], row[5]]).toEqual([hostileText, "consumers:read, keys:write", "never"])
    expect(await page.getByText(value).count()).toBe(0)
    await expectNoMarkup(page)
    await page.getByRole("button", { name: `Revoke the token ${hostileText}` }).click()
    await page.getByRole("button", { name: "Revoke token", exact: true }).click()
    await page.getByText("No token was created in this account").waitFor()
    await expect.poll(() => callMe(value)).toBe(401)
    expect(errors).toEqual([])
    await close()
  })

  it("shows who is signed in, and ends a session", async () => {
    const link = await server.gate.createConsoleLink({ account: "acme", name: "Ann", permissions: ["support"] })
    const context = await browser.newContext()
    const ann = await context.newPage()
    await ann.goto(link.url)
    await ann.getByRole("heading", { name: "Overview" }).waitFor()
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/people",
      token: adminToken
    })
    const [row = []] = await readRows(page, "Sessions, oldest first")
    expect([row[0], row[1], row[5]]).toEqual(["Ann", "support", "open"])
    await expectAccessible(page)
    await page.getByRole("button", { name: "End the session of Ann" }).click()
    await page.getByRole("button", { name: "End session", exact: true }).click()
    await page.getByText("Ended the session of Ann").waitFor()
    await page.getByText("Nobody is signed in by a link").first().waitFor()
    // Each page asks the server, which refuses the session within a second.
    let pages = 0
    await expect
      .poll(async () => {
        await ann.evaluate(`location.hash = "#/accounts/acme/events?subject=${pages++}"`)
        return ann.getByRole("heading", { name: "Your token is no longer accepted" }).count()
      })
      .toBe(1)
    await context.close()
    expect(errors).toEqual([])
    await close()
  })

  it("ends all sessions for all accounts, on a phone", async () => {
    const link = await server.gate.createConsoleLink({ name: "Bob" })
    const context = await browser.newContext()
    const bob = await context.newPage()
    await bob.goto(link.url)
    await bob.getByRole("navigation", { name: "Main" }).waitFor()
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/people",
      token: adminToken,
      context: { viewport: { width: 375, height: 800 } }
    })
    await page.getByRole("button", { name: "End all: Sessions for all accounts" }).waitFor()
    await expectNoSideScroll(page)
    await expectAccessible(page)
    await page.getByRole("button", { name: "End all: Sessions for all accounts" }).click()
    await page.getByRole("button", { name: "End all sessions" }).click()
    await page.getByText("Ended all sessions").waitFor()
    await expect.poll(() => page.getByRole("button", { name: /^End all/ }).count()).toBe(0)
    await context.close()
    expect(errors).toEqual([])
    await close()
  })

  it("says which permission is missing", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme/people" })
    await page.getByRole("heading", { name: "You may not see this" }).waitFor()
    await page.getByText("tokens:read").waitFor()
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })
})
