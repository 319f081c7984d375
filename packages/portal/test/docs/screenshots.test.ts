/**
 * Takes the pictures of the portal for the documentation: `npm run screenshots`. Every test run takes them too, and keeps
 * them only in memory.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { closePages, launchBrowser } from "../../../ui/test/browser.ts"
import { addRefusals, allPermissions, logo, type PortalServer, startPortalServer } from "../browser/portalServer.ts"

const images = new URL("../../../../docs/images/", import.meta.url)
const isKept = process.env["SCREENSHOTS"] === "true"
const dayMs = 86_400_000
const days = 30

let browser: Browser
let server: PortalServer

beforeAll(async () => {
  browser = await launchBrowser()
  const now = Date.now()
  // The clock of a gate does not go back, so it starts in the past.
  vi.useFakeTimers({ toFake: ["Date"], now: now - days * dayMs })
  server = await startPortalServer({
    logo,
    color: "#5b21b6",
    clock: "caller",
    used: { requests: 12 },
    plans: [
      { name: "Starter", planExternalIds: ["starter"], price: "Free", description: "To try things out" },
      { name: "Pro", planExternalIds: ["pro"], price: "€ 20 a month", description: "For products with customers" },
      {
        name: "Enterprise",
        planExternalIds: ["enterprise"],
        description: "Your own limits",
        link: "https://example.com/contact"
      }
    ],
    onPlanChange: () => undefined
  })
  const customer = server.gate.account("acme").meteringBucket("billing").customer("cus_1")
  for (let day = 1; day <= days; day++) {
    vi.setSystemTime(now - (days - day) * dayMs)
    await customer.consume({
      requests: 10 + 3 * (day % 7) + Math.floor(day / 3),
      ...(day % 8 === 0 ? { exports: 1 } : {})
    })
  }
  await customer.grants.create({ meter: "requests", amount: 500 })
  await addRefusals(server, 4)
  vi.useRealTimers()
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const looks = [
  ["light", { colorScheme: "light", viewport: { width: 1200, height: 1240 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1200, height: 1240 } }],
  ["phone", { colorScheme: "light", viewport: { width: 375, height: 760 } }]
] as const

describe("the portal", () => {
  it.each(looks)("is pictured: %s", async (look, context) => {
    const session = { allow: allPermissions, name: "ann@example.com", returnUrl: "https://example.com/settings" }
    const { page, errors, close } = await server.open(browser, session, { ...context, reducedMotion: "reduce" })
    await page.locator("canvas").first().waitFor()
    await page.getByText("Too fast").waitFor()
    const picture = await page.screenshot({ animations: "disabled" })
    expect(picture.byteLength).toBeGreaterThan(10_000)
    expect(errors).toEqual([])
    if (isKept) {
      mkdirSync(images, { recursive: true })
      writeFileSync(new URL(`portal-${look}.png`, images), picture)
    }
    await close()
  })
})
