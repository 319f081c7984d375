/**
 * Takes the pictures of the README and the documentation: `npm run screenshots`, of the demo with 200 customers that
 * `npm start -- --demo` fills. Every test run takes them too, of a few customers, and keeps them only in memory.
 */

import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import {
  parseUrl,
  type StartedServer,
  startServer,
  stopServer
} from "../../../../examples/express-sqlite/test/startServer.ts"
import { closePages, launchBrowser, openConsole } from "../browser.ts"
import { type ConsoleServer, startConsoleServer, writeToken } from "../consoleServer.ts"
import { addDemoData, demoDays } from "../demoData.ts"

const images = new URL("../../../../docs/images/", import.meta.url)
const isKept = process.env["SCREENSHOTS"] === "true"

/** A server, and what there is to see on it. */
interface Shown {
  readonly origin: string
  readonly token: string
  readonly account: string
  readonly customer: string
  readonly meteringBucket: string
}

let browser: Browser
let server: ConsoleServer
/** A few customers, and deployments. */
let few: Shown
let all: Shown
let demo: StartedServer | undefined
const folder = mkdtempSync(join(tmpdir(), "tollgate-pictures-"))
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
  const { origin } = server
  few = { origin, token: writeToken, account: "acme", customer: "northwind", meteringBucket: "production" }
  all = few
  if (!isKept) return
  const data = process.env["TOLLGATE_DATA"] ?? folder
  demo = await startServer({ TOLLGATE_DATA: data }, ["--demo"])
  const token = readFileSync(join(data, "management-token"), "utf8").trim()
  all = {
    origin: parseUrl(demo.output),
    token,
    account: "demo",
    customer: "juniper-dynamics-labs",
    meteringBucket: "default"
  }
}, 900_000)
afterAll(async () => {
  await closePages(browser)
  await server?.close()
  if (demo !== undefined) await stopServer(demo)
  rmSync(folder, { recursive: true, force: true })
  receiver.close()
})

const hasPlot = (page: Page) => page.locator("canvas").first().waitFor()

const goTo = (page: Page, { origin, account }: Shown, path: string) =>
  page.goto(`${origin}/console/#/accounts/${account}/${path}`)

const findLink = async (page: Page, shown: Shown, list: string, name: string): Promise<void> => {
  await goTo(page, shown, list)
  await page.getByRole("link", { name }).first().click()
}

/** The pages to take, by the name of the picture. */
const pages: Readonly<Record<string, (page: Page, shown: Shown) => Promise<void>>> = {
  overview: hasPlot,
  consumers: async (page, shown) => {
    await goTo(page, shown, "consumers/production")
    await page.getByRole("link", { name: shown.customer }).waitFor()
    await page.getByRole("meter").first().waitFor()
  },
  consumer: async (page, shown) => {
    await findLink(page, shown, "consumers/production", shown.customer)
    await hasPlot(page)
  },
  subscription: async (page, shown) => {
    await findLink(page, shown, "consumers/production", shown.customer)
    await page.getByRole("region", { name: "Subscriptions and usage" }).locator(".card a").first().click()
    await page.getByRole("heading", { name: `Subscription of ${shown.customer}` }).waitFor()
    await hasPlot(page)
  },
  refusals: async (page, shown) => {
    await goTo(page, shown, "refusals/production")
    await page.getByRole("table", { name: "Refused requests, newest first" }).waitFor()
  },
  plan: async (page, shown) => {
    await findLink(page, shown, "metering?all=1", shown.meteringBucket)
    await page.getByRole("table", { name: "All plans" }).getByRole("link").first().click()
    await page.getByRole("heading", { name: "Meters" }).waitFor()
  },
  deployment: async (page) => {
    await findLink(page, few, "deployments/website", "main")
    await page.getByRole("heading", { name: "Versions" }).waitFor()
  },
  api: async (page, { origin, account }) => {
    await page.goto(`${origin}/v1/docs#consumers.create`)
    await page.getByLabel("Account", { exact: true }).fill(account)
    await page.getByLabel("Key bucket", { exact: true }).fill("production")
    await page.locator('[id="consumers.create"]').evaluate((operation) => operation.scrollIntoView())
    await page.locator('[id="consumers.create"]').getByText("TypeScript").waitFor()
  }
}

const looks = [
  ["light", { colorScheme: "light", viewport: { width: 1200, height: 820 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1200, height: 820 } }],
  ["phone", { colorScheme: "light", viewport: { width: 375, height: 760 } }]
] as const

describe.each(looks)("the console, %s", (look, context) => {
  it.each(Object.entries(pages))("shows %s", async (name, open) => {
    const shown = name === "deployment" ? few : all
    const { page, errors, close } = await openConsole(browser, shown.origin, {
      token: shown.token,
      path: `/accounts/${shown.account}`,
      context: { ...context, reducedMotion: "reduce" }
    })
    await open(page, shown)
    await expect.poll(() => page.locator(".skeleton").count()).toBe(0)
    const picture = await page.screenshot({ animations: "disabled" })
    expect(picture.byteLength).toBeGreaterThan(10_000)
    expect(errors).toEqual([])
    if (isKept) {
      mkdirSync(images, { recursive: true })
      writeFileSync(new URL(`console-${name}-${look}.png`, images), picture)
    }
    await close()
  })
})
