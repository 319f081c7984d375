import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer, writeToken } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  await server.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

describe("the session of the console", { timeout: 60_000 }, () => {
  it("asks for the management token, and keeps it in memory", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await expectAccessible(page)
    await page.getByLabel("Management token").fill(writeToken)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("heading", { name: "Accounts" }).waitFor()
    expect(await page.evaluate("sessionStorage.length")).toBe(0)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })
})
