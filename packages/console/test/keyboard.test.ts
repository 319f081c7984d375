/**
 * The main flow without a mouse: sign in, open an account, create a consumer with a key, roll it, revoke it.
 */
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closePages, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer, writeToken } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  await server.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const getFocus = async (page: Page): Promise<string> =>
  (await page.evaluate(
    "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''"
  )) as string

/** Presses Tab until the focus is on what has this name. */
const tabTo = async (page: Page, name: RegExp): Promise<void> => {
  const seen: Array<string> = []
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab")
    const focus = await getFocus(page)
    if (name.test(focus)) return
    seen.push(focus)
  }
  throw new Error(`Tab does not reach ${name}, only ${seen.join(" | ")}`)
}

const press = async (page: Page, name: RegExp): Promise<void> => {
  await tabTo(page, name)
  await page.keyboard.press("Enter")
}

describe("the console without a mouse", () => {
  it("does the main flow", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.getByLabel("Management token").waitFor()
    // The field has the focus.
    await page.keyboard.type(writeToken)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    await page.keyboard.press("g")
    await page.keyboard.press("c")
    await page.getByRole("button", { name: "Create consumer" }).waitFor()
    await press(page, /^Create consumer$/)
    await page.getByRole("heading", { name: "Create a consumer" }).waitFor()
    await page.keyboard.type("bob")
    await page.keyboard.press("Enter")
    const secret = page.locator("dialog .secret")
    await secret.waitFor()
    const value = (await secret.textContent()) ?? ""
    const production = server.gate.account("acme").keyBucket("production")
    expect((await production.verify(value)).valid).toBe(true)
    await press(page, /^Done$/)
    await expect.poll(() => page.locator("dialog").count()).toBe(0)
    await page.getByRole("heading", { name: "bob" }).waitFor()
    await page.getByRole("button", { name: /^Revoke key/ }).waitFor()
    await press(page, /^Revoke key/)
    await page.getByRole("dialog").waitFor()
    // Escape takes the question back, and the focus returns to the button.
    await page.keyboard.press("Escape")
    await expect.poll(() => getFocus(page)).toMatch(/^Revoke key/)
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").waitFor()
    await press(page, /^Revoke/)
    await expect.poll(async () => (await production.verify(value)).valid).toBe(false)
    await expect.poll(() => page.locator("dialog").count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("skips the navigation", async () => {
    const { page, close } = await openConsole(browser, server.origin, { path: "/accounts/acme/consumers/production" })
    await page.getByRole("link", { name: "alice", exact: true }).waitFor()
    await page.evaluate("document.activeElement?.blur()")
    await press(page, /^Skip to the content$/)
    expect(await page.evaluate("document.activeElement?.id")).toBe("main")
    await close()
  })
})
