import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  const acme = server.gate.account("acme")
  await acme.keyBucket("production").consumers.create({ name: "alice" })
  await acme.keyBucket("staging").consumers.create({ name: "alice" })
  const metering = await acme.meteringBuckets.ensure("default")
  await metering.plans.create({ label: "free", meters: { requests: { label: "Requests", max: 5 } } })
  await metering.subscriptions.create({ customerKey: "alice", planExternalIds: ["free"] })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const openAcme = () => openConsole(browser, server.origin, { path: "/accounts/acme" })

describe("the frame of the console", () => {
  it("finds anything by its beginning, with /", async () => {
    const { page, errors, close } = await openAcme()
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.keyboard.press("/")
    const field = page.getByLabel("Search for")
    const results = page.getByRole("dialog").getByRole("listitem")
    await field.fill("ALI")
    await page.keyboard.press("Enter")
    await results.first().waitFor()
    expect((await results.allTextContents()).sort()).toEqual([
      "consumer alice (name, in production)",
      "consumer alice (name, in staging)",
      "customer alice (customerKey)",
      expect.stringMatching(/^subscription [\w-]+ \(customerExternalId\)$/)
    ])
    await expectAccessible(page)
    for (const text of ["lice", '<img src=x onerror="alert(1)">', "x".repeat(40)]) {
      await field.fill(text)
      await page.keyboard.press("Enter")
      await page.getByText("Nothing in this account begins with this text").waitFor()
    }
    await field.fill("alice")
    await page.keyboard.press("Enter")
    await results.filter({ hasText: "in staging" }).getByRole("link").click()
    await page.waitForURL(/#\/accounts\/acme\/consumers\/staging\/alice$/)
    await expect.poll(() => page.locator("dialog").count()).toBe(0)
    await page.getByRole("heading", { name: "alice", level: 1 }).waitFor()
    await page.keyboard.press("/")
    await field.waitFor()
    await page.keyboard.press("Escape")
    await expect.poll(() => page.locator("dialog").count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("shows the keys with ?, and goes to the sections with g", async () => {
    const { page, errors, close } = await openAcme()
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.keyboard.press("?")
    await page.getByRole("heading", { name: "Keyboard" }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press("Escape")
    for (const [key, section] of Object.entries({
      c: "consumers",
      m: "metering",
      d: "deployments",
      e: "events",
      w: "webhooks",
      p: "people"
    })) {
      await page.keyboard.press("g")
      await page.keyboard.press(key)
      await page.waitForURL(new RegExp(`#/accounts/acme/${section}$`))
    }
    await page.goBack()
    await page.waitForURL(/#\/accounts\/acme\/webhooks$/)
    expect(errors).toEqual([])
    await close()
  })

  it("takes no keys when they are turned off", async () => {
    const { page, close } = await openAcme()
    await page.getByText("Settings").click()
    await page.getByLabel("Keyboard shortcuts").uncheck()
    await page.reload()
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.keyboard.press("/")
    await page.keyboard.press("g")
    await page.keyboard.press("e")
    await page.getByRole("button", { name: "Help" }).click()
    await page.getByRole("heading", { name: "Keyboard" }).waitFor()
    expect(await page.locator("dialog").count()).toBe(1)
    expect(page.url()).toMatch(/#\/accounts\/acme$/)
    await close()
  })

  it.each(["/accounts/..", "/accounts/acme/consumers/../..", "/accounts/acme/webhooks/."])(
    "does not leave its place in the API at the address %s",
    async (path) => {
      const { page, errors, close } = await openConsole(browser, server.origin, { path })
      await page.getByRole("heading", { name: "There is no such page" }).waitFor()
      expect(errors).toEqual([])
      await close()
    }
  )

  it("does not take keys while one types", async () => {
    const { page, close } = await openConsole(browser, server.origin, { path: "/?all=1" })
    const field = page.getByLabel("Open an account by name")
    await field.pressSequentially("a/b?gc")
    expect(await field.inputValue()).toBe("a/b?gc")
    expect(await page.locator("dialog").count()).toBe(0)
    await page.keyboard.press("Enter")
    await page.getByText("Use letters, digits").waitFor()
    await close()
  })

  it("follows the system's colours until one chooses, and remembers the choice", async () => {
    const { page, close } = await openConsole(browser, server.origin, { context: { colorScheme: "dark" } })
    const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor")
    await page.getByText("Settings").click()
    const dark = await background()
    await page.getByLabel("Colours").selectOption("light")
    const light = await background()
    expect(light).not.toBe(dark)
    await page.reload()
    await page.getByText("Settings").waitFor()
    expect(await background()).toBe(light)
    await page.emulateMedia({ colorScheme: "light" })
    await page.getByText("Settings").click()
    await page.getByLabel("Colours").selectOption("system")
    expect(await background()).toBe(light)
    await close()
  })

  it("says what to do at an address that does not exist", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/nothing/%E0%A4%A"
    })
    await page.getByRole("heading", { name: "There is no such page" }).waitFor()
    await expectAccessible(page)
    await page.getByRole("link", { name: "Go to the start" }).click()
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("opens the only account and the only key bucket, and lists them on demand", async () => {
    const one = await startConsoleServer({ hasModules: false })
    try {
      await one.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
      const { page, close } = await openConsole(browser, one.origin)
      await page.waitForURL(/#\/accounts\/acme$/)
      await page.getByRole("link", { name: "Change account" }).click()
      await page.getByLabel("Open an account by name").waitFor()
      await page.getByRole("link", { name: "acme", exact: true }).click()
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Consumers" }).click()
      await page.getByRole("heading", { name: "Consumers in production" }).waitFor()
      // The list was never a page of its own: back leads to the overview.
      await page.goBack()
      await page.getByRole("heading", { name: "Overview" }).waitFor()
      await page.goForward()
      await page.getByRole("link", { name: "APIs" }).click()
      await page.getByRole("table", { name: "APIs" }).getByRole("link", { name: "production" }).waitFor()
      await close()
    } finally {
      await one.close()
    }
  })

  it("has its menu behind a button on a phone, which closes with the choice", async () => {
    const context = { viewport: { width: 375, height: 800 } }
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme", context })
    const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Events" })
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    expect(await link.isVisible()).toBe(false)
    await page.getByRole("button", { name: "Menu" }).click()
    await expectAccessible(page)
    await link.click()
    await page.getByRole("heading", { name: "Events", level: 1 }).waitFor()
    expect(await link.isVisible()).toBe(false)
    expect(errors).toEqual([])
    await close()
  })

  it("fits a screen of 375 pixels", async () => {
    const { page, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme",
      context: { viewport: { width: 375, height: 700 } }
    })
    await page.getByRole("heading", { level: 1 }).waitFor()
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(375)
    await expectAccessible(page)
    await close()
  })

  it("shows the rows of a table as cards on a phone, each value with its name, and nothing to the right of the screen", async () => {
    const context = { viewport: { width: 375, height: 800 } }
    const path = "/accounts/acme/consumers/production/alice"
    await server.gate.account("acme").keyBucket("production").keys.create("alice")
    const { page, errors, close } = await openConsole(browser, server.origin, { path, context })
    const revoke = page.getByRole("button", { name: /^Revoke key/ })
    await revoke.first().waitFor()
    const { x = 0, width = 0 } = (await revoke.first().boundingBox()) ?? {}
    expect(x + width).toBeLessThanOrEqual(375)
    const name = await page.evaluate(
      'getComputedStyle(document.querySelector("td[data-title=State]"), "::before").content'
    )
    expect(name).toBe('"State"')
    expect(await page.getByRole("table", { name: "Keys of this consumer" }).getByRole("row").count()).toBeGreaterThan(0)
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(375)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("marks everything that destroys alike, and draws its icons from the page", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/consumers/production/alice"
    })
    const buttons = [/^Stop$/, /^Remove$/, /^Revoke key/].map((name) => page.getByRole("button", { name }).first())
    for (const button of buttons) {
      await button.waitFor()
      expect(await button.getAttribute("class")).toContain("destructive")
    }
    expect(
      await page.evaluate(
        '[...document.querySelectorAll("use")].every((use) => document.querySelector(use.getAttribute("href")) !== null)'
      )
    ).toBe(true)
    expect(errors).toEqual([])
    await close()
  })
})
