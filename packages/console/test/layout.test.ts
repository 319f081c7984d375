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

describe("the frame of the console", { timeout: 120_000 }, () => {
  it("finds consumers, subscriptions and nothing by exact name, with /", async () => {
    const { page, errors, close } = await openAcme()
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.keyboard.press("/")
    await page.getByLabel("Exact name").fill("alice")
    await page.keyboard.press("Enter")
    await page.getByRole("link", { name: "Consumer alice in production" }).waitFor()
    await page.getByRole("link", { name: "Consumer alice in staging" }).waitFor()
    await page.getByRole("link", { name: "Subscription of alice in default (active)" }).waitFor()
    await expectAccessible(page)
    await page.getByLabel("Exact name").fill("alic")
    await page.keyboard.press("Enter")
    await page.getByText("Nothing in this account has exactly this name").waitFor()
    await page.getByLabel("Exact name").fill('<img src=x onerror="alert(1)">')
    await page.keyboard.press("Enter")
    await page.getByText("Nothing in this account has exactly this name").waitFor()
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
      w: "webhooks"
    })) {
      await page.keyboard.press("g")
      await page.keyboard.press(key)
      await page.waitForURL(new RegExp(`#/accounts/acme/${section}$`))
    }
    await page.goBack()
    await page.waitForURL(/#\/accounts\/acme\/events$/)
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
    const { page, close } = await openConsole(browser, server.origin)
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
    await page.getByRole("link", { name: "acme" }).waitFor()
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
})
