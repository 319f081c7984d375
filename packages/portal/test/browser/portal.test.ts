import { readFile } from "node:fs/promises"
import { eventually } from "@tollgate/testing"
import type { Browser } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { closePages, expectAccessible, launchBrowser } from "../../../ui/test/browser.ts"
import { expectFailedRequests } from "../../../ui/test/expectErrors.ts"
import { expectNoMarkup, expectNoSideScroll, hostileText } from "../../../ui/test/pageChecks.ts"
import {
  addRefusals,
  allPermissions,
  logo,
  type PortalServer,
  type PortalServerOptions,
  startPortalServer
} from "./portalServer.ts"

let browser: Browser
let server: PortalServer
const changes: Array<string> = []

const plans = [
  { name: "Starter", planExternalIds: ["starter"], price: "Free" },
  { name: "Pro", planExternalIds: ["pro"], price: "€ 20 a month", description: "For products with customers" },
  { name: "Team", planExternalIds: ["team"], description: "Paid by card" },
  { name: "Enterprise", planExternalIds: ["enterprise"], link: "https://example.com/contact" }
]

const start = async (options: PortalServerOptions = {}) => {
  server = await startPortalServer({
    plans,
    onPlanChange: async ({ plan, customerKey }) => {
      changes.push(`${customerKey} ${plan.name}`)
      if (plan.name === "Team") return { url: "/checkout" }
      await customer().changePlan({ planExternalIds: [...plan.planExternalIds], at: "now" })
      return undefined
    },
    ...options
  })
}
const production = () => server.gate.account("acme").keyBucket("production")
const customer = () => server.gate.account("acme").meteringBucket("billing").customer("cus_1")

beforeAll(async () => {
  browser = await launchBrowser()
})
afterEach(async () => {
  await closePages(browser)
  await server.close()
})
afterAll(() => closePages(browser))

describe("keys", () => {
  beforeEach(() => start())

  it("are created with a name and shown once, with the command that uses them", async () => {
    const { page, errors } = await server.open(browser)
    await page.getByRole("button", { name: "Create key" }).click()
    await page.getByRole("textbox", { name: "Name" }).fill("Laptop of Ann")
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
    const dialog = page.getByRole("dialog", { name: "Your new key" })
    const value = (await dialog.locator(".secret").textContent()) ?? ""
    expect(await dialog.locator("pre").textContent()).toContain(`Authorization: Bearer ${value}`)
    expect((await production().verify(value)).valid).toBe(true)
    await expectAccessible(page)
    await dialog.getByRole("button", { name: "Done" }).click()
    const row = page.getByRole("listitem").filter({ hasText: "Laptop of Ann" })
    expect(await row.textContent()).toContain(`****${value.slice(-4)}`)
    await page.reload()
    await row.waitFor()
    expect(await page.content()).not.toContain(value)
    expect(errors).toEqual([])
  })

  it("are renamed, rolled with a grace period, and revoked", async () => {
    const { page, errors } = await server.open(browser)
    await page.getByRole("button", { name: "Rename production" }).click()
    await page.getByRole("textbox", { name: "Name" }).fill("server")
    await page.getByRole("button", { name: "Save name" }).click()
    await page.getByRole("button", { name: "Roll server" }).click()
    await page.getByLabel("The old key ends").selectOption("in 7 days")
    await page.getByRole("button", { name: "Roll key" }).click()
    const value = (await page.locator(".secret").textContent()) ?? ""
    await page.getByRole("button", { name: "Done" }).click()
    await page.getByText("Ends in 6 days").or(page.getByText("Ends in 7 days")).waitFor()
    const rolled = (await production().keys.list("alice")).data
    expect(rolled.map(({ description }) => description)).toEqual(["server", "server"])
    const ends = rolled.map(({ expiresOn }) => expiresOn).filter((time) => time !== undefined)
    expect(ends).toHaveLength(1)
    expect(Date.parse(String(ends[0])) - Date.now()).toBeGreaterThan(6.9 * 86_400_000)
    await page.getByRole("button", { name: "Revoke server" }).first().click()
    await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).click()
    await page.getByText("Revoked server").waitFor()
    const left = (await production().keys.list("alice")).data
    expect(left).toHaveLength(1)
    expect((await production().verify(value)).valid).toBe(true)
    expect(errors).toEqual([])
  })

  it("can only be read in a session that may only read", async () => {
    const { page, errors } = await server.open(browser, { allow: ["keys:read"], name: "ann@example.com" })
    await page.getByText("production").waitFor()
    await page.getByText("Signed in as ann@example.com").waitFor()
    expect(await page.getByRole("button").allTextContents()).toEqual(["Copy"])
    expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(["API keys", "How to call the API"])
    expect(errors).toEqual([])
  })
})

describe("usage and plan", () => {
  it("say what is left, with credit, and what was used, also as CSV", async () => {
    await start()
    await customer().grants.create({ meter: "requests", amount: 500 })
    const { page, errors } = await server.open(browser)
    const left = page.getByRole("region", { name: "What is left" })
    const requests = left.getByRole("listitem").filter({ hasText: "API requests" })
    expect(await requests.textContent()).toMatch(
      /880 left.*620 of 1,500 used. 500 of what is left is credit. Starts again on/
    )
    expect(await left.getByRole("listitem").filter({ hasText: "Exports" }).textContent()).toMatch(
      /0 left.*Used up: requests are refused until/
    )
    const usage = page.getByRole("region", { name: "Usage", exact: true })
    await usage.locator("canvas").first().waitFor()
    await usage.getByLabel("By").selectOption("Month")
    await usage.getByText("Usage of the last 12 months", { exact: true }).waitFor()
    const download = page.waitForEvent("download")
    await usage.getByRole("button", { name: "Download CSV" }).click()
    const file = await download
    expect(file.suggestedFilename()).toBe("usage-month.csv")
    const csv = await readFile(await file.path(), "utf8")
    expect(csv.split("\n")[0]?.trim()).toBe("start,end,exports,requests")
    expect(csv).toMatch(/,5,620\r?\n/)
    expect(errors).toEqual([])
  })

  it("say what each key used, by its name, also as CSV", async () => {
    await start()
    const { key } = await production().keys.create("alice", { description: "Laptop of Ann" })
    const { id: meteringBucketId } = await server.gate.account("acme").meteringBuckets.ensure("billing")
    const metering = { meteringBucketId, meters: { requests: 40 } }
    expect((await production().authorize(key, { metering })).allowed).toBe(true)
    // It is written a few seconds later.
    await eventually(async () => {
      const { data } = await customer().series({ groupBy: "key" })
      if (data.at(-1)?.groups?.length !== 1) throw new Error("The use is not written yet")
    })
    const { page, errors } = await server.open(browser)
    const usage = page.getByRole("region", { name: "Usage", exact: true })
    const table = usage.getByRole("table", { name: "What each key used" })
    await table.waitFor()
    expect(await table.getByRole("row").allTextContents()).toEqual([
      expect.stringMatching(/^Key.*API requests.*Exports/),
      expect.stringMatching(/^Laptop of Ann\D*40\D*0$/),
      expect.stringMatching(/^Other keys, and without a key\D*620\D*5$/)
    ])
    const download = page.waitForEvent("download")
    await usage.getByRole("button", { name: "Keys as CSV" }).click()
    const file = await download
    expect(file.suggestedFilename()).toBe("usage-key-day.csv")
    expect(await readFile(await file.path(), "utf8")).toMatch(/,Laptop of Ann,0,40\r\n/)
    await expectAccessible(page)
    expect(errors).toEqual([])
    // A session that may not read keys sees no names.
    const other = await server.open(browser, { allow: ["usage:read"] })
    await other.page.getByRole("region", { name: "Usage", exact: true }).locator("canvas").first().waitFor()
    expect(await other.page.getByText("Laptop of Ann").count()).toBe(0)
    expect(other.errors).toEqual([])
  })

  it("change the plan, or lead to where it is paid", async () => {
    await start()
    const { page, errors } = await server.open(browser)
    await page.getByRole("link", { name: "See Enterprise" }).waitFor()
    await page.getByRole("button", { name: "Change to Pro" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Change plan" }).click()
    await page.getByText("Your plan is being changed to Pro").waitFor()
    await page.getByText("49,380 left").waitFor()
    const { subscriptions } = await customer().get()
    expect(subscriptions.map(({ planExternalIds }) => planExternalIds)).toEqual([["pro"]])
    await page.getByRole("button", { name: "Change to Team" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Change plan" }).click()
    await page.waitForURL(`${server.origin}/checkout`)
    expect(changes.splice(0)).toEqual(["cus_1 Pro", "cus_1 Team"])
    expect(errors).toEqual([])
  })

  it("say why the host refuses a change", async () => {
    await start({ onPlanChange: () => ({ refused: "Pay the open invoice first." }) })
    const { page, errors } = await server.open(browser)
    await page.getByRole("button", { name: "Change to Pro" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Change plan" }).click()
    await page.getByRole("dialog").getByText("Pay the open invoice first.").waitFor()
    expectFailedRequests(errors, [409])
  })

  it("say how many requests were refused today, and why", async () => {
    await start()
    await addRefusals(server, 4)
    const { page, errors } = await server.open(browser)
    const refusals = page.getByRole("region", { name: "Refused requests" })
    expect(await refusals.getByRole("listitem").textContent()).toMatch(/Too fast.*4 today, 4 in all/)
    expect(errors).toEqual([])
  })
})

describe("a session", () => {
  beforeEach(() => start())

  it("that is revoked leads back to the host, and its token is not in the address", async () => {
    const { page, sessionId } = await server.open(browser, {
      allow: allPermissions,
      returnUrl: "https://example.com/account"
    })
    const back = page.getByRole("link", { name: "Back to Northwind" })
    expect(await back.getAttribute("href")).toBe("https://example.com/account")
    expect(page.url()).toBe(`${server.origin}/portal/`)
    await server.gate.account("acme").portalSessions.remove("production", "alice", sessionId)
    await expect
      .poll(async () => {
        await page.reload()
        return page
          .getByRole("heading", { name: "Your session has ended" })
          .or(page.getByRole("heading", { name: "API access" }))
          .textContent()
      })
      .toBe("Your session has ended")
    const link = page.getByRole("link", { name: "Go back and open it again" })
    expect(await link.getAttribute("href")).toBe("https://example.com/account")
    await expectAccessible(page)
    expect(await page.evaluate("Object.values(sessionStorage)")).toEqual(["https://example.com/account"])
  })

  it("without a valid link shows that it has ended, and asks the server nothing", async () => {
    await server.close()
    await start({ returnUrl: "https://example.com/keys" })
    const { page, errors } = await server.open(browser)
    await page.locator("canvas").first().waitFor()
    await page.goto("about:blank")
    const requests: Array<string> = []
    page.on("request", (request) => requests.push(new URL(request.url()).pathname))
    await page.goto(`${server.origin}/portal/#token=tgp_x&path=accounts/acme/key-buckets/../consumers/alice`)
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor()
    expect(requests.filter((path) => path.startsWith("/v1"))).toEqual([])
    const link = page.getByRole("link", { name: "Go back and open it again" })
    expect(await link.getAttribute("href")).toBe("https://example.com/keys")
    expect(errors).toEqual([])
  })
})

describe("looks", () => {
  it.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["phone", { viewport: { width: 375, height: 700 } }]
  ] as const)("are accessible: %s", async (_, context) => {
    await start({ color: "#5b21b6", logo })
    const { page, errors } = await server.open(browser, { allow: allPermissions }, context)
    await page.locator("canvas").first().waitFor()
    await expectAccessible(page)
    await expectNoSideScroll(page)
    expect(errors).toEqual([])
  })

  it("work with the keyboard alone", async () => {
    await start()
    const { page } = await server.open(browser)
    await page.getByRole("button", { name: "Create key" }).focus()
    await page.keyboard.press("Enter")
    await page.locator("dialog input:focus").waitFor()
    await page.keyboard.type("by keyboard")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog", { name: "Your new key" }).waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("listitem").filter({ hasText: "by keyboard" }).waitFor()
    expect((await production().keys.list("alice")).data).toHaveLength(2)
  })

  it("show the texts of host, tenant and customer as texts", async () => {
    const text = hostileText.slice(0, 40)
    await start({
      name: text,
      description: hostileText,
      meterLabel: hostileText,
      planLabels: [hostileText, "pro"],
      plans: [{ name: hostileText, planExternalIds: ["pro"], price: hostileText, description: hostileText }],
      texts: { keys: hostileText, language: "de" }
    })
    const { page, errors } = await server.open(browser, { allow: allPermissions, name: hostileText })
    await page.getByRole("heading", { name: hostileText, level: 2 }).waitFor()
    await page.locator("canvas").first().waitFor()
    await page.getByRole("button", { name: `Rename ${hostileText}` }).click()
    await page.getByRole("textbox", { name: "Name" }).fill(`${hostileText} again`)
    await page.getByRole("button", { name: "Save name" }).click()
    await page.getByText(`${hostileText} again`).waitFor()
    await page.getByRole("button", { name: `Change to ${hostileText}` }).click()
    await expectNoMarkup(page)
    expect(await page.getAttribute("html", "lang")).toBe("de")
    expect(errors).toEqual([])
  })

  it("name none of our own words", async () => {
    await start()
    await addRefusals(server, 1)
    const { page } = await server.open(browser)
    await page.locator("canvas").first().waitFor()
    await page.getByText("Too fast").waitFor()
    expect(await page.locator("#app").textContent()).not.toMatch(/bucket|consumer|subscription|tollgate|meter\b|cus_1/i)
  })
})
