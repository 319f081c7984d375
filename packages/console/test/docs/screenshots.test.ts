/**
 * Takes the pictures of the README and the documentation: `npm run screenshots`. Every test run takes them too, and keeps
 * them only in memory.
 */

import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { MemoryStore } from "@tollgate/memory"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { closePages, launchBrowser, openConsole } from "../browser.ts"
import { type ConsoleServer, startConsoleServer } from "../consoleServer.ts"
import { addDemoData, demoDays } from "../demoData.ts"

const images = new URL("../../../../docs/images/", import.meta.url)
const isKept = process.env["SCREENSHOTS"] === "true"

let browser: Browser
let server: ConsoleServer
const receiver = createServer((_, res) => void res.writeHead(204).end())

beforeAll(async () => {
  browser = await launchBrowser()
  receiver.listen(0, "127.0.0.1")
  await once(receiver, "listening")
  const address = receiver.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const now = Date.now()
  // The clock of a gate does not go back, so it starts in the past.
  vi.useFakeTimers({ toFake: ["Date"], now: now - demoDays * 86_400_000 })
  server = await startConsoleServer({ store: MemoryStore.open({ clock: "caller" }) })
  await addDemoData(server.gate, now, (time) => vi.setSystemTime(time), `http://127.0.0.1:${port}/billing`)
  vi.useRealTimers()
}, 120_000)
afterAll(async () => {
  await closePages(browser)
  await server?.close()
  receiver.close()
})

const hasPlot = (page: Page) => page.locator("canvas").first().waitFor()

const findLink = async (page: Page, list: string, name: string): Promise<void> => {
  await page.goto(`${server.origin}/console/#/accounts/acme/${list}`)
  await page.getByRole("link", { name }).first().click()
}

/** The pages to take, by the name of the picture. */
const pages: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  overview: hasPlot,
  consumers: async (page) => {
    await findLink(page, "consumers", "production")
    await page.getByRole("link", { name: "northwind" }).waitFor()
  },
  consumer: async (page) => {
    await findLink(page, "consumers/production", "northwind")
    await hasPlot(page)
  },
  subscription: async (page) => {
    await findLink(page, "metering", "production")
    await page.getByRole("link", { name: "Subscriptions" }).click()
    await page.getByRole("link", { name: "northwind" }).first().click()
    await hasPlot(page)
  },
  deployment: async (page) => {
    await findLink(page, "deployments/website", "main")
    await page.getByRole("heading", { name: "Versions" }).waitFor()
  }
}

describe.each(["light", "dark"] as const)("the console in %s colours", { timeout: 120_000 }, (colorScheme) => {
  it.each(Object.entries(pages))("shows %s", async (name, open) => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme",
      context: { colorScheme, viewport: { width: 1200, height: 820 }, reducedMotion: "reduce" }
    })
    await open(page)
    const picture = await page.screenshot({ animations: "disabled" })
    expect(picture.byteLength).toBeGreaterThan(10_000)
    expect(errors).toEqual([])
    if (isKept) {
      mkdirSync(images, { recursive: true })
      writeFileSync(new URL(`console-${name}-${colorScheme}.png`, images), picture)
    }
    await close()
  })
})
