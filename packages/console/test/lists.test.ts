import { readFile } from "node:fs/promises"
import { eventually } from "@tollgate/testing"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectFailedRequests } from "../../ui/test/expectErrors.ts"
import { expectNoSideScroll, readRows } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

const names = ["alice", "bob", "carol", "dave", "erin"]
const used: Readonly<Record<string, number>> = { alice: 10, bob: 95, carol: 50, dave: 100 }

const acme = () => server.gate.account("acme")
const production = () => acme().keyBucket("production")

const open = (path = "/accounts/acme/consumers/production", options: Parameters<typeof openConsole>[2] = {}) =>
  openConsole(browser, server.origin, { path, ...options })

const button = (page: Pick<Page, "getByRole">, name: string) => page.getByRole("button", { name, exact: true })
const readNames = async (page: Page): Promise<ReadonlyArray<string>> =>
  page.getByRole("table", { name: "Consumers" }).locator("tbody .consumer-name").allTextContents()

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  const metering = await acme().meteringBuckets.ensure("default")
  for (const label of ["free", "pro"])
    await metering.plans.create({
      label,
      meters: { requests: { label: "Requests", max: 100 }, tokens: { max: 1_000 } }
    })
  for (const name of names) {
    const description = name === "erin" ? '=HYPERLINK("https://example.com")' : `${name}, Ltd.`
    await production().consumers.create({ name, description, tags: { region: "eu", count: 1 } })
    if (name === "erin") continue
    const { key } = await production().keys.create(name)
    const plan = name === "carol" ? "pro" : "free"
    const { id } = await metering.subscriptions.create({ customerKey: name, planExternalIds: [plan] })
    await metering.usage.consume(id, { requests: used[name] ?? 1, tokens: 7 })
    if (name === "bob") await production().authorize(key ?? "")
  }
  await production().consumers.update("alice", { disabled: true })
  await eventually(async () => {
    const { data } = await production().keys.list("bob")
    if (data[0]?.lastUsedOn === undefined) throw new Error("The use of the key is not written yet")
  })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

describe("the columns of the list of consumers", () => {
  it("show the plan, the highest use, when it was seen and its state", async () => {
    const { page, errors, close } = await open()
    await page.getByRole("link", { name: "erin" }).waitFor()
    await page.getByText("95 of 100").waitFor()
    const rows = await readRows(page, "Consumers")
    const cells = rows.map(([, name, plan, use, seen, state]) => [name, plan, use, seen, state].join(" | "))
    expect(cells).toEqual([
      expect.stringMatching(/^alicealice, Ltd\. \| free \| requests10 of 100 \| never \| stopped$/),
      expect.stringMatching(/^bobbob, Ltd\. \| free \| requests95 of 100 \| .*\d{4}, .* \| near quota$/),
      expect.stringMatching(/^carolcarol, Ltd\. \| pro \| requests50 of 100 \| never \| active$/),
      expect.stringMatching(/^davedave, Ltd\. \| free \| requests100 of 100 \| never \| over quota$/),
      expect.stringMatching(/^erin=HYPERLINK.* \| – \| – \| never \| no key$/)
    ])
    await expectAccessible(page)
    // One request for the consumers and their keys, and one for the subscriptions and their usage.
    const lists = server.responses.filter((response) => /consumers\?|subscriptions\?/.test(response))
    expect(lists).toHaveLength(2)
    expect(errors).toEqual([])
    await close()
  })

  it("sort the consumers, with the order in the address", async () => {
    const { page, errors, close } = await open()
    await button(page, "Used").click()
    await expect.poll(() => readNames(page)).toEqual(["dave", "bob", "carol", "alice", "erin"])
    expect(page.url()).toContain("sort=-used")
    expect(await page.getByRole("columnheader", { name: "Used" }).getAttribute("aria-sort")).toBe("descending")
    await expectAccessible(page)
    await button(page, "Used").click()
    await expect.poll(() => readNames(page)).toEqual(["erin", "alice", "carol", "bob", "dave"])
    await button(page, "Last seen").click()
    await expect.poll(async () => (await readNames(page))[0]).toBe("bob")
    await page.goBack()
    await expect.poll(() => readNames(page)).toEqual(["erin", "alice", "carol", "bob", "dave"])
    expect(errors).toEqual([])
    await close()
  })

  it("filter by state, also in an order and by a search", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/production?sort=-name")
    await expect.poll(() => readNames(page)).toEqual([...names].reverse())
    await page.getByLabel("State").selectOption("over quota")
    await expect.poll(() => readNames(page)).toEqual(["dave"])
    await page.getByLabel("State").selectOption("unpaid")
    await page.getByRole("heading", { name: "No consumer matches" }).waitFor()
    await button(page, "Clear").click()
    await expect.poll(() => readNames(page)).toEqual([...names].reverse())
    await page.getByLabel("Search", { exact: true }).fill("ltd")
    await button(page, "Filter").click()
    await expect.poll(() => readNames(page)).toEqual(["dave", "carol", "bob", "alice"])
    expect(errors).toEqual([])
    await close()
  })

  it("ask for each customer when there are many, and say that only the first 1,000 are sorted", async () => {
    const many = acme().keyBucket("many")
    const metering = await acme().meteringBuckets.ensure("default")
    const keys = Array.from({ length: 1_010 }, (_, index) => `customer-${String(index).padStart(4, "0")}`)
    for (let first = 0; first < keys.length; first += 101)
      await Promise.all(
        keys.slice(first, first + 101).map(async (name, index) => {
          await many.consumers.create({ name })
          if (index < 30) await metering.subscriptions.create({ customerKey: name, planExternalIds: ["pro"] })
        })
      )
    const { page, errors, close } = await open("/accounts/acme/consumers/many")
    await expect.poll(async () => (await readRows(page, "Consumers"))[0]?.[2]).toBe("pro")
    expect(server.responses.filter((response) => response.includes("customerKey=customer-"))).toHaveLength(50)
    await button(page, "Name").click()
    await page.getByText("Only the oldest 1,000 of 1,010 consumers are sorted").waitFor()
    await page.getByText("1–50 of 1,000").waitFor()
    await button(page, "Next").click()
    await page.getByText("51–100 of 1,000").waitFor()
    expect(errors).toEqual([])
    await close()
  })
})

describe("selected consumers", () => {
  it("are stopped and let call again", async () => {
    const { page, errors, close } = await open()
    await page.getByLabel("Select bob").check()
    await page.getByLabel("Select carol").check()
    await page.getByText("2 selected").waitFor()
    await expectAccessible(page)
    await button(page, "Stop").click()
    await expectAccessible(page)
    await button(page, "Stop them").click()
    await page.getByText("Stopped 2 consumers").waitFor()
    const isDisabled = async (name: string) => (await production().consumers.get(name)).disabled ?? false
    expect(await Promise.all(names.map(isDisabled))).toEqual([true, true, true, false, false])
    await button(page, "Let them call again").click()
    await button(page, "Let them call").click()
    await page.getByText("May call again: 2 consumers").waitFor()
    expect(await Promise.all(names.map(isDisabled))).toEqual([true, false, false, false, false])
    expect(errors).toEqual([])
    await close()
  })

  it("get a tag beside the tags they have, and those that are gone are named", async () => {
    await production().consumers.create({ name: "zoe" })
    const { page, errors, close } = await open("/accounts/acme/consumers/production?sort=name")
    await page.getByRole("link", { name: "zoe" }).waitFor()
    await page.getByLabel("Select all on this page").check()
    await page.getByText("6 selected").waitFor()
    await production().consumers.remove("zoe")
    await button(page, "Add a tag").click()
    await page.getByLabel("Tag to add").fill("no value")
    await button(page, "Add tag").click()
    await page.getByText("Write name=value").waitFor()
    await page.getByLabel("Tag to add").fill("tier=gold")
    await button(page, "Add tag").click()
    await page.getByText("1 consumer could not be changed; the others are.").waitFor()
    await page
      .getByRole("dialog")
      .getByText(/^zoe: /)
      .waitFor()
    await expectAccessible(page)
    for (const name of names)
      expect((await production().consumers.get(name)).tags).toEqual({ region: "eu", count: 1, tier: "gold" })
    expectFailedRequests(errors, [404])
    await close()
  })

  it("are exported as CSV that no spreadsheet runs", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/production?sort=name", { token: readToken })
    await page.getByRole("link", { name: "erin" }).waitFor()
    await page.getByLabel("Select all on this page").check()
    await page.getByText("5 selected").waitFor()
    expect(await button(page, "Stop").count()).toBe(0)
    const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Export CSV").click()])
    expect(download.suggestedFilename()).toBe("consumers-production.csv")
    const lines = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n")
    expect(lines[0]).toBe("name,description,customerKey,plan,state,meter,used,max,lastSeenOn,createdOn,tags")
    expect(lines[2]).toMatch(/^bob,"bob, Ltd\.",bob,free,near quota,requests,95,100,\d{4}-/)
    expect(lines[5]).toMatch(/^erin,"'=HYPERLINK\(""https:\/\/example\.com""\)",erin,,no key,,,,,/)
    expect(errors).toEqual([])
    await close()
  })

  it("fit a screen of 375 px", async () => {
    const { page, close } = await open(undefined, { context: { viewport: { width: 375, height: 800 } } })
    await page.getByRole("link", { name: "erin" }).waitFor()
    await page.getByLabel("Select bob").check()
    await expectNoSideScroll(page)
    await expectAccessible(page)
    await close()
  })
})
