/**
 * Questions that a support team is asked every day. Each is answered from the overview, with at most 4 clicks and inputs,
 * which are counted.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { eventually } from "@tollgate/testing"
import type { Browser, Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { readRows } from "../../ui/test/pageChecks.ts"
import { closePages, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer } from "./consoleServer.ts"

const maxSteps = 4

let browser: Browser
let server: ConsoleServer
const endpoint = createServer((_, res) => res.writeHead(500).end())

const acme = () => server.gate.account("acme")
const production = () => acme().keyBucket("production")
const getMetering = () => acme().meteringBuckets.ensure("default")
const requestId = "req-0123456789"
let leakedKey = ""
let busyKeyId = ""

/** Does something as a person who signed in with a link. */
const actAs = async (name: string, method: string, path: string, body: unknown): Promise<void> => {
  const { url } = await server.gate.createConsoleLink({ account: "acme", name, permissions: ["*"] })
  const exchanged = await fetch(`${server.origin}/console/session`, {
    method: "POST",
    body: JSON.stringify({ code: url.split("#code=")[1] })
  })
  const { token } = (await exchanged.json()) as { readonly token: string }
  const response = await fetch(`${server.origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  expect(response.status).toBeLessThan(300)
}

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  endpoint.listen(0, "127.0.0.1")
  await eventually(() => expect(endpoint.listening).toBe(true))
  const metering = await getMetering()
  await metering.plans.create({ label: "free", meters: { requests: { max: 20 } } })
  await metering.plans.create({ label: "pro", meters: { requests: { max: 1_000 } }, trialDays: 14 })
  for (const [name, plan, requests] of [
    ["alice", "free", 20],
    ["bob", "free", 4],
    ["carol", "pro", 30]
  ] as const) {
    const { apiKeys } = await production().consumers.create(
      { name, managers: [`${name}@customers.example`] },
      { withApiKey: true }
    )
    const { id } = await metering.subscriptions.create({
      customerKey: name,
      planExternalIds: [plan],
      ...(plan === "pro" ? { status: "trialing" as const } : {})
    })
    await metering.usage.consume(id, { requests })
    if (name === "bob") leakedKey = apiKeys[0].key ?? ""
    if (name !== "alice") continue
    const denied = await fetch(`${server.origin}/v1/accounts/acme/key-buckets/production/authorize`, {
      method: "POST",
      headers: {
        authorization: "Bearer a-token-that-may-write-everything",
        "content-type": "application/json",
        "x-request-id": requestId
      },
      body: JSON.stringify({
        key: apiKeys[0].key,
        metering: { meteringBucketId: metering.id, meters: { requests: 1 } }
      })
    })
    expect(denied.status).toBe(200)
  }
  await actAs("Ann Lee", "POST", `/v1/metering/${metering.id}/customers/bob/plan`, {
    planExternalIds: ["pro"],
    at: "now"
  })
  const [firstKey] = (await production().keys.list("carol", { keyFormat: "visible" })).data
  const busyKey = await production().keys.create("carol")
  busyKeyId = busyKey.id
  for (const key of [firstKey?.key, busyKey.key, busyKey.key, busyKey.key])
    await production().authorize(key, { metering: { meteringBucketId: metering.id, meters: { requests: 1 } } })
  await eventually(async () => {
    const { data } = await metering.customer("carol").series({ groupBy: "key" })
    if (data.at(-1)?.groups?.length !== 2) throw new Error("The usage of keys is not written yet")
  })
  const { port } = endpoint.address() as AddressInfo
  await acme().webhooks.create({ url: `http://127.0.0.1:${port}/billing`, events: ["consumer.*"] })
  await production().consumers.update("carol", { description: "Carol Ltd." })
  await eventually(async () => {
    const { data } = await acme().decisions.list("production")
    if (data.length === 0) throw new Error("The refusal is not written yet")
    const [webhook] = (await acme().webhooks.list()).data
    const deliveries = await acme().webhooks.deliveries(webhook?.id ?? "")
    if (deliveries.data.every(({ attempts }) => attempts.length === 0)) throw new Error("Nothing was sent yet")
  })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
  endpoint.close()
})

/** The steps of a person: each click, each text and each choice is one. */
interface Person {
  readonly click: (target: Locator) => Promise<void>
  readonly press: (key: string) => Promise<void>
  readonly fill: (target: Locator, text: string) => Promise<void>
}

/** Answers a question from the overview, and counts the steps. */
const answer = async (find: (page: Page, person: Person) => Promise<void>): Promise<number> => {
  const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme" })
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
  let steps = 0
  const count =
    <Arguments extends ReadonlyArray<unknown>>(act: (...args: Arguments) => Promise<unknown>) =>
    async (...args: Arguments): Promise<void> => {
      steps++
      await act(...args)
    }
  await find(page, {
    click: count((target: Locator) => target.click()),
    press: count((key: string) => page.keyboard.press(key)),
    fill: count((target: Locator, text: string) => target.fill(text))
  })
  expect(errors).toEqual([])
  await close()
  return steps
}

const search = async (page: Page, { press, fill }: Person, text: string): Promise<Locator> => {
  await press("/")
  await fill(page.getByLabel("Search for"), text)
  const results = page.getByRole("dialog").getByRole("listitem")
  await results.first().waitFor()
  return results
}

const nearQuota = (page: Page, customer: string): Locator =>
  page
    .getByRole("table", { name: "Customers near the end of a quota" })
    .getByRole("link", { name: customer, exact: true })

const questions: Readonly<Record<string, (page: Page, person: Person) => Promise<void>>> = {
  "Why was request req-0123456789 refused?": async (page, person) => {
    const results = await search(page, person, requestId)
    await results.filter({ hasText: "over-quota: alice" }).first().waitFor()
  },
  "Who used most this month?": async (page) => {
    expect((await readRows(page, "Customers who used most requests this month"))[0]).toEqual(["carol", "34"])
  },
  "Give alice 500 requests more": async (page, { click, fill }) => {
    await click(nearQuota(page, "alice"))
    await click(page.getByRole("button", { name: "Give credit of requests" }))
    await fill(page.getByLabel("Amount", { exact: true }), "500")
    await click(page.getByRole("dialog").getByRole("button", { name: "Give credit" }))
    await page.getByText("20 of 520").waitFor()
    const { data } = await (await getMetering()).customer("alice").grants.list()
    expect(data).toMatchObject([{ meter: "requests", amount: 500, remaining: 500, state: "active" }])
  },
  "Who is bob@customers.example?": async (page, person) => {
    const results = await search(page, person, "bob@customers.example")
    await person.click(results.getByRole("link", { name: "bob", exact: true }).first())
    await page.getByRole("heading", { name: "bob", level: 1 }).waitFor()
  },
  "A key that ends like this was leaked: stop it": async (page, person) => {
    const results = await search(page, person, leakedKey.slice(-4))
    await person.click(results.getByRole("link").first())
    await person.click(page.getByRole("button", { name: /^Disable key/ }))
    await page.getByText(/^Disabled /).waitFor()
    expect((await production().keys.list("bob")).data[0]?.disabled).toBe(true)
  },
  "When did alice reach the quota?": async (page, { click }) => {
    const top = page.getByRole("table", { name: "Customers who used most requests this month" })
    await click(top.getByRole("link", { name: "alice", exact: true }))
    const rows = await readRows(page, "Events, newest first")
    const reached = rows.find(([, type]) => type === "quota.threshold_reached")
    expect(reached?.[0]).toMatch(/\d{4}, /)
  },
  "Which key of carol uses most?": async (page, person) => {
    const results = await search(page, person, "carol")
    await person.click(results.filter({ hasText: "consumer" }).getByRole("link").first())
    const rows = await readRows(page, "Usage by key in default")
    expect(rows).toEqual([
      [busyKeyId, "3"],
      [expect.stringMatching(/^key_/), "1"],
      ["Not known", "30"]
    ])
  },
  "Extend the trial of carol by a week": async (page, { click }) => {
    const metering = await getMetering()
    const read = async () => (await metering.subscriptions.list({ customerKey: "carol" })).data[0]?.trialEndDate ?? ""
    const before = await read()
    const trials = page.getByRole("table", { name: "Trials, the next to end first" })
    await click(trials.getByRole("link", { name: "carol" }))
    await click(page.getByRole("button", { name: "Extend the trial" }))
    await click(page.getByRole("button", { name: "Extend", exact: true }))
    await page.getByText("The trial of carol was extended.").waitFor()
    const days = (Date.parse(await read()) - Date.parse(before)) / 86_400_000
    expect(Math.round(days)).toBe(7)
  },
  "Who changed the plan of bob?": async (page) => {
    const rows = await readRows(page, "Changes by people, newest first")
    const change = rows.find(([, type]) => type === "subscription.updated")
    expect(change?.[0]).toBe("Ann Lee")
  },
  "Why does the webhook fail?": async (page, { click }) => {
    const rows = await readRows(page, "Failures")
    expect(rows.map(([, what, why]) => `${what}: ${why}`)).toContainEqual(
      expect.stringMatching(/^Delivery of consumer\.\w+ to http:.*\/billing: .*500/)
    )
    await click(page.getByRole("link", { name: /^Delivery of consumer/ }).first())
    await page.getByRole("table", { name: "Deliveries of this webhook" }).waitFor()
  }
}

describe("support questions, from the overview", () => {
  it.each(Object.entries(questions))("%s", async (_, find) => {
    expect(await answer(find)).toBeLessThanOrEqual(maxSteps)
  })
})
