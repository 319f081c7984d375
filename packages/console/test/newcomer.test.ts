/** What a support person who is new to the console looks for first: fourteen things, each tried. */
import { eventually } from "@tollgate/testing"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectNoSideScroll, readRows } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer, writeToken } from "./consoleServer.ts"

const logo =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'><path d='M0 0h8v8H0z'/></svg>"
const requestId = "req-of-alice-1"
const phone = { viewport: { width: 375, height: 800 } }

let browser: Browser
let server: ConsoleServer
let meteringId = ""
let planId = ""
let subscriptionId = ""
let keyOfAlice = { id: "", value: "" }
/** The token of Ann's session. */
let ann = ""

const acme = () => server.gate.account("acme")
const production = () => acme().keyBucket("production")

/** Opens a page as Ann, who may do everything. */
const open = (path = "", options: Parameters<typeof openConsole>[2] = {}) =>
  openConsole(browser, server.origin, { token: ann, path: `/accounts/acme${path}`, ...options })

const redeem = async (url: string): Promise<string> => {
  const response = await fetch(`${server.origin}/console/session`, {
    method: "POST",
    body: JSON.stringify({ code: url.split("#code=")[1] })
  })
  const { token } = (await response.json()) as { readonly token: string }
  return token
}

const call = async (token: string, method: string, path: string, body: unknown, id = "any"): Promise<void> => {
  const response = await fetch(`${server.origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "x-request-id": id },
    body: JSON.stringify(body)
  })
  expect(response.status).toBe(200)
}

const addData = async (): Promise<void> => {
  const metering = await acme().meteringBuckets.ensure("default")
  await metering.plans.create({ label: "free", meters: { requests: { max: 20 } } })
  const pro = await metering.plans.create({ label: "pro", meters: { requests: { max: 1_000_000 } }, trialDays: 14 })
  for (const [name, plan, requests] of [
    ["alice", "free", 20],
    ["carol", "pro", 37_045]
  ] as const) {
    const { apiKeys } = await production().consumers.create(
      { name, managers: [`${name}@globex.example`] },
      { withApiKey: true }
    )
    const { id } = await metering.subscriptions.create({
      customerKey: name,
      planExternalIds: [plan],
      ...(plan === "pro" ? { status: "trialing" as const } : {})
    })
    await metering.usage.consume(id, { requests })
    if (name === "alice") keyOfAlice = { id: apiKeys[0].id, value: apiKeys[0].key ?? "" }
    else subscriptionId = id
  }
  const busy = await production().keys.create("carol", { description: "second" })
  const body = { meteringBucketId: metering.id, meters: { requests: 1 } }
  expect(await production().authorize(busy.key, { metering: body, labels: { model: "small" } })).toMatchObject({
    allowed: true
  })
  const root = "/v1/accounts/acme/key-buckets/production"
  await call(writeToken, "POST", `${root}/authorize`, { key: keyOfAlice.value, metering: body }, requestId)
  await call(ann, "PATCH", `${root}/consumers/alice/keys/${keyOfAlice.id}`, { description: "Leaked" })
  meteringId = metering.id
  planId = pro.id
  await eventually(async () => {
    expect((await acme().decisions.list("production")).data.length).toBeGreaterThan(0)
    expect((await acme().events.list({ type: "key.updated" })).total).toBe(1)
    const { data } = await metering.customer("carol").series({ groupBy: "label:model" })
    expect(data.at(-1)?.groups).toHaveLength(1)
  })
}

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer({ settings: { brand: { name: "Northwind", logo } } })
  const link = await server.gate.createConsoleLink({ account: "acme", name: "Ann Lee", permissions: ["admin"] })
  ann = await redeem(link.url)
  await addData()
}, 120_000)
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const readEvents = (page: Page) => readRows(page, "Events, newest first")
const search = async (page: Page, text: string) => {
  await page.getByLabel("Search for").fill(text)
  return page.getByRole("dialog").getByRole("status").getByRole("listitem")
}

describe("a newcomer finds in the console", { timeout: 120_000 }, () => {
  it("1: a customer by anything, the reason of a refusal, and whose key was changed by whom", async () => {
    const { page, errors, close } = await open()
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    await page.keyboard.press("/")
    for (const [text, found] of [
      ["ALI", "consumer alice (name, in production)"],
      ["alice@glob", "consumer alice"],
      [keyOfAlice.id, `key ${keyOfAlice.id} of alice`],
      [requestId, "refused request over-quota: alice"],
      [keyOfAlice.value.slice(-4), `key ${keyOfAlice.id} of alice`]
    ] as const)
      await (await search(page, text)).filter({ hasText: found }).first().waitFor()
    await expectAccessible(page)
    await page.getByRole("dialog").getByRole("link").first().click()
    await page.getByRole("heading", { name: "alice", level: 1 }).waitFor()
    await page.getByRole("button", { name: "Why was this refused?" }).click()
    await page.getByLabel("Request id").fill("another")
    await page.getByRole("button", { name: "Find" }).click()
    await page.getByText("No refused request with this id is kept").waitFor()
    await page.getByLabel("Request id").fill(requestId)
    await page.getByRole("button", { name: "Find" }).click()
    await page.getByText("Refused: the quota is used up").waitFor()
    await page.getByText("Give credit, change the plan or override the limit").waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Cancel", exact: true }).click()
    const events = await readEvents(page)
    expect(events.map(([, type]) => type)).toEqual(
      expect.arrayContaining(["key.updated", "key.created", "subscription.created", "quota.threshold_reached"])
    )
    expect(events.find(([, type]) => type === "key.updated")?.[3]).toBe("Ann Lee")
    // What was opened is offered again.
    await page.keyboard.press("/")
    await page.getByRole("heading", { name: "Opened lately" }).waitFor()
    await page.getByRole("dialog").getByRole("link", { name: "alice", exact: true }).waitFor()
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("2: how many requests were allowed and refused, of the account and of a customer", async () => {
    const { page, errors, close } = await open()
    await page.getByRole("list", { name: "Requests in production, last 30 days, by outcome" }).waitFor()
    await page.getByRole("link", { name: "1 over-quota" }).waitFor()
    await page.evaluate("location.hash = '#/accounts/acme/consumers/production/alice'")
    const outcomes = page.getByRole("list", { name: "Requests of the last 30 days, by outcome" })
    await outcomes.getByRole("link", { name: "1 refused" }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("3: who uses most, a list to sort with plan, use and last use, and no list of one", async () => {
    const { page, errors, close } = await open()
    expect((await readRows(page, "Customers who used most requests this month"))[0]).toEqual(["carol", "37,046"])
    for (const [name, target] of [
      ["2 Consumers", /\/consumers$/],
      ["2 Subscriptions", /\/metering$/],
      ["2 plans", /\/metering\/bckt_\w+$/]
    ] as const)
      expect(await page.getByRole("link", { name, exact: true }).getAttribute("href")).toMatch(target)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Consumers" }).click()
    await page.waitForURL(/consumers\/production$/)
    await page.getByRole("button", { name: "Used" }).click()
    await page.waitForURL(/sort=-used/)
    const [first = []] = await readRows(page, "Consumers")
    expect([first[1], first[2], first[5]]).toEqual(["alice", "free", "over quota"])
    expect(await page.getByRole("columnheader").allTextContents()).toEqual(
      expect.arrayContaining(["Plan↕", "Last seen↕", "State↕"])
    )
    expect(errors).toEqual([])
    await close()
  })

  it("4: a sign-in by a link, with a name and a role that hides what it does not allow", async () => {
    const { url } = await server.gate.createConsoleLink({ account: "acme", name: "Bob", permissions: ["support"] })
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "", path: "" })
    await page.goto(url)
    await page.getByText("Bob: support.").waitFor()
    await page.evaluate("location.hash = '#/accounts/acme/consumers/production/alice'")
    await page.getByRole("button", { name: /^Disable key/ }).waitFor()
    expect(await page.getByRole("button", { name: /^Remove$|^Revoke key|^Show value/ }).count()).toBe(0)
    await page.getByText("What else one can do is not shown.").waitFor()
    await page.evaluate("location.hash = '#/accounts/acme/people'")
    await page.getByRole("table", { name: "Sessions, oldest first" }).waitFor()
    expect(await page.getByRole("button", { name: /^End|^Create token/ }).count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("5: who looked at the value of a key", async () => {
    const { page, errors, close } = await open("/consumers/production/alice")
    await page.getByRole("button", { name: /^Show value of key/ }).click()
    await page.getByText("Whoever has it can call your API as alice.").waitFor()
    await page.getByRole("button", { name: "Done" }).click()
    await expect
      .poll(async () => {
        await page.getByRole("button", { name: "Refresh events" }).click()
        return (await readEvents(page)).map(([, type, , by]) => `${type} ${by}`)
      })
      .toContain("key.revealed Ann Lee")
    expect(errors).toEqual([])
    await close()
  })

  it("6: how to roll one key, while the others stay", async () => {
    const [former, other] = (await production().keys.list("carol")).data
    const { page, errors, close } = await open("/consumers/production/carol")
    await page.getByRole("button", { name: `Roll key ${former?.key}` }).click()
    await page.getByRole("button", { name: "Roll key", exact: true }).click()
    await page.getByRole("dialog", { name: "1 new key" }).waitFor()
    const keys = (await production().keys.list("carol")).data
    expect(keys.map(({ id, expiresOn }) => [id, expiresOn !== undefined])).toEqual([
      [former?.id, true],
      [other?.id, false],
      [expect.stringMatching(/^key_/), false]
    ])
    expect(errors).toEqual([])
    await close()
  })

  it("7: on one page what support does for a customer, and nothing that only developers do", async () => {
    const { page, errors, close } = await open("/consumers/production/carol")
    for (const name of [
      "Change plan in default",
      "Give credit in default",
      "Cancel subscription in default",
      "Extend the trial",
      "Override limits",
      "Stop"
    ])
      await page.getByRole("button", { name, exact: true }).waitFor()
    await page.getByText("Allowance 1,000,000, resets").waitFor()
    expect(await page.getByRole("button", { name: /Reserve|Count usage|Create many|Import/ }).count()).toBe(0)
    for (const note of ["Asked for an invoice.", "Paid."]) {
      await page.getByRole("button", { name: "Add a note" }).click()
      await page.getByLabel("Note", { exact: true }).fill(note)
      await page.getByRole("dialog").getByRole("button", { name: "Add note" }).click()
      await page.getByRole("dialog").waitFor({ state: "detached" })
      await page.getByText(note).waitFor()
    }
    expect((await production().consumers.get("carol")).description).toBe("Asked for an invoice.\nPaid.")
    expect(errors).toEqual([])
    await close()
  })

  it("8: the value of a plot at the pointer, and what was used by key and by label", async () => {
    const { page, errors, close } = await open("/consumers/production/carol")
    const section = page.getByRole("region", { name: "Subscriptions and usage" })
    const plot = section.locator(".u-over").first()
    await plot.scrollIntoViewIfNeeded()
    expect(await page.locator(".u-legend, .plot-value:visible").count()).toBe(0)
    const { x = 0, y = 0, width = 0, height = 0 } = (await plot.boundingBox()) ?? {}
    await plot.hover({ position: { x: width - 2, y: 20 } })
    const value = plot.getByText(/: 37,046$/)
    await value.waitFor()
    const shown = await value.boundingBox()
    expect(shown?.x).toBeGreaterThanOrEqual(x)
    expect((shown?.y ?? 0) + (shown?.height ?? 0)).toBeLessThanOrEqual(y + height)
    expect((await readRows(page, "Usage by key in default")).map(([, used]) => used)).toEqual(["1", "37,045"])
    await page.getByLabel("Label to group by").fill("model")
    await page.getByRole("button", { name: "Group" }).click()
    await page.waitForURL(/label=model/)
    expect(await readRows(page, "Usage by model in default")).toEqual([
      ["small", "1"],
      ["Not known", "37,045"]
    ])
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("9: plain words, the same on every page, and dates", async () => {
    const { page, errors, close } = await open()
    const pages = ["", "/consumers/production", "/consumers/production/alice", "/events"]
    for (const path of [...pages, `/metering/${meteringId}/subscriptions/${subscriptionId}`]) {
      await page.evaluate(`location.hash = "#/accounts/acme${path}"`)
      await page.locator("main time").first().waitFor()
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0)
      const text = (await page.locator("main").allInnerTexts()).join()
      expect(text).not.toMatch(/key bucket|customer ?key|external id|\binvited\b|\bhost\b|\bsystem\b/i)
      for (const time of await page.locator("main time").allTextContents()) expect(time).toMatch(/\d{4}, /)
    }
    expect(errors).toEqual([])
    await close()
  })

  it("10: links between a customer, its subscription and its events", async () => {
    const { page, errors, close } = await open("/events")
    const about = (type: string) => page.getByRole("row").filter({ hasText: type }).getByRole("link")
    expect(await about("key.updated").filter({ hasText: keyOfAlice.id }).getAttribute("href")).toBe(
      "#/accounts/acme/consumers/production/alice"
    )
    expect(await page.getByRole("link", { name: "pro", exact: true }).getAttribute("href")).toContain(planId)
    await about("subscription.created").filter({ hasText: "carol" }).click()
    await page.waitForURL(new RegExp(`subscriptions/${subscriptionId}$`))
    await page.getByRole("link", { name: "carol in production" }).click()
    await page.getByRole("link", { name: "All of the consumer and its keys" }).click()
    await page.getByText("Only those of carol and its keys.").waitFor()
    expect(await page.getByRole("cell", { name: "subscription.created" }).count()).toBe(0)
    await page.evaluate("location.hash = '#/accounts/acme/find/plan/plan_000000000000000000000000'")
    await page.getByText("There is no plan with this id").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("11: all that destroys alike, and what destroys most not in a list", async () => {
    const { page, errors, close } = await open("/consumers/production/alice")
    const looks = new Set<unknown>()
    const readLooks = async (...names: ReadonlyArray<RegExp>) => {
      for (const name of names) {
        const target = page.getByRole("button", { name }).first()
        await target.waitFor()
        expect(await target.getAttribute("class")).toContain("destructive")
      }
      const read = `[...document.querySelectorAll("main .destructive")].map((button) =>
        getComputedStyle(button).color + button.querySelectorAll("svg.icon").length)`
      for (const look of (await page.evaluate(read)) as ReadonlyArray<unknown>) looks.add(look)
    }
    await readLooks(/^Stop$/, /^Remove$/, /^Revoke key/)
    await page.evaluate(`location.hash = "#/accounts/acme/metering/${meteringId}"`)
    await page.getByRole("heading", { name: "default", level: 1 }).waitFor()
    await readLooks(/^Remove$/)
    expect([...looks]).toEqual([expect.stringMatching(/^rgb.*1$/)])
    await page.evaluate("location.hash = '#/accounts/acme/metering?all=1'")
    await page.getByRole("table", { name: "Metering buckets" }).waitFor()
    expect(await page.getByRole("button", { name: /Remove/ }).count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it.each([1200, 375])("12: numbers that stay in one line, on %i pixels", async (width) => {
    const { page, close } = await open("/consumers/production/carol", { context: { viewport: { width, height: 800 } } })
    for (const path of ["consumers/production/carol", "consumers/production"]) {
      await page.evaluate(`location.hash = "#/accounts/acme/${path}"`)
      const numbers = page.locator(".quota-numbers").filter({ hasText: "37,046 of 1,000,000" }).first()
      await numbers.waitFor()
      const heights = `[...document.querySelectorAll(".quota-numbers")].map((numbers) =>
        numbers.getBoundingClientRect().height / parseFloat(getComputedStyle(numbers).fontSize))`
      for (const height of (await page.evaluate(heights)) as ReadonlyArray<number>) expect(height).toBeLessThan(2)
    }
    await close()
  })

  it("13: on a phone the menu behind a button, and all that can be done with a key", async () => {
    const { page, errors, close } = await open("/consumers/production/alice", { context: phone })
    await page.getByRole("button", { name: /^Revoke key/ }).waitFor()
    const menu = await page.getByRole("navigation", { name: "Main" }).boundingBox()
    expect(menu?.height).toBeLessThan(80)
    expect(await page.locator("kbd:visible").count()).toBe(0)
    const row = page.getByRole("table", { name: "Keys of this consumer" }).locator("tbody tr").first()
    for (const part of [row.getByText("active"), ...(await row.getByRole("button").all())]) {
      const { x = 0, width = 0 } = (await part.boundingBox()) ?? {}
      expect(x).toBeGreaterThanOrEqual(0)
      expect(x + width).toBeLessThanOrEqual(375)
    }
    await expectNoSideScroll(page)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("14: the logo and the name of the company, icons, and what to do where nothing is", async () => {
    const { page, errors, close } = await open("/deployments")
    await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor()
    expect(await page.title()).toMatch(/· Northwind console$/)
    expect(await page.evaluate('document.querySelector(".brand img").naturalWidth > 0')).toBe(true)
    const links = page.getByRole("navigation", { name: "Main" }).getByRole("listitem")
    expect(await links.locator("svg.icon").count()).toBe(await links.count())
    const empty = page.locator(".empty-state")
    await empty.getByText("The first upload adds the project.").waitFor()
    expect(await empty.locator("svg.icon").count()).toBe(1)
    expect(errors).toEqual([])
    await close()
  })
})
