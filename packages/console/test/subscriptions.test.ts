import { readFile } from "node:fs/promises"
import { eventually } from "@tollgate/testing"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectNoMarkup, expectNoSideScroll, hostileText, readRows, withoutStatus } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer, writeToken } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer
let bucketCount = 0

const stepDates = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" })
const stepTimes = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })

/** A metering bucket of the test's own, with two plans. */
const createBucket = async () => {
  const billing = await server.gate.account("acme").meteringBuckets.ensure(`bucket-${++bucketCount}`)
  const pro = await billing.plans.create({
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: 1_000, label: "Requests" }, tokens: { max: 50 } },
    rateLimits: { steady: { limit: 500, per: "minute" } },
    trialDays: 14
  })
  const team = await billing.plans.create({
    label: "Team",
    planExternalId: "team",
    meters: { requests: { max: 9_000 } }
  })
  return { billing, pro, team, path: `/accounts/acme/metering/${billing.id}` }
}

const createSubscription = async (customerKey = "alice") => {
  const bucket = await createBucket()
  const subscription = await bucket.billing.subscriptions.create({ customerKey, planIds: [bucket.pro.id] })
  return { ...bucket, subscription, path: `${bucket.path}/subscriptions/${subscription.id}` }
}

const readDownload = async (page: Page): Promise<{ readonly name: string; readonly text: string }> => {
  const downloading = page.waitForEvent("download")
  await page.getByRole("button", { name: "Download CSV" }).click()
  const download = await downloading
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") }
}

const fetchCsv = async (path: string, query: string): Promise<string> => {
  const headers = { authorization: `Bearer ${writeToken}`, accept: "text/csv" }
  return (await fetch(`${server.origin}/v1/metering/${path}/usage?${query}`, { headers })).text()
}

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

describe("subscriptions in the console", () => {
  it("creates a subscription with the plans that are picked", async () => {
    const { billing, pro, team, path } = await createBucket()
    const { page, errors, close } = await openConsole(browser, server.origin, { path: `${path}?tab=subscriptions` })
    await page.getByRole("heading", { name: "There is no subscription yet" }).waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Create subscription" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Customer", { exact: true }).fill(hostileText)
    await dialog.getByRole("button", { name: "Create", exact: true }).click()
    await dialog.getByText("Choose one plan or more.").waitFor()
    await dialog.getByLabel("Pro (pro)").check()
    await dialog.getByLabel("Team (team)").check()
    await dialog.getByLabel("Status").selectOption("trialing")
    await dialog.getByLabel("Quotas renew").selectOption("yearly")
    await dialog.getByLabel("After the trial").selectOption("paused")
    await dialog.getByText("Your ids, dates, metadata").click()
    await dialog.getByLabel("Your id of the subscription").fill(`${hostileText} order`)
    await dialog.getByLabel("Your id of the customer").fill(`${hostileText} customer`)
    await dialog.getByLabel("Region").selectOption("europe-west4")
    await dialog.getByLabel("Product key").fill("product")
    await dialog.getByLabel("Metadata").fill("{ not JSON")
    await dialog.getByRole("button", { name: "Create", exact: true }).click()
    await dialog.getByText("The metadata cannot be used").waitFor()
    await dialog.getByLabel("Metadata").fill(JSON.stringify({ note: hostileText }))
    await expectAccessible(page)
    await dialog.getByRole("button", { name: "Create", exact: true }).click()

    await page.getByRole("heading", { name: `Subscription of ${hostileText}`, level: 1 }).waitFor()
    await page.getByText("Requests (requests)").waitFor()
    const { data } = await billing.subscriptions.list()
    expect(data).toMatchObject([
      {
        customerKey: hostileText,
        planIds: [pro.id, team.id],
        planExternalIds: ["pro", "team"],
        status: "trialing",
        renewalStrategy: "yearly",
        trialEndStatus: "paused",
        region: "europe-west4",
        subscriptionExternalId: `${hostileText} order`,
        customerExternalId: `${hostileText} customer`,
        productKey: "product",
        metadata: { note: hostileText }
      }
    ])
    await expectNoMarkup(page)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("keeps what was entered when the external id is taken", async () => {
    const { billing, path } = await createBucket()
    await billing.subscriptions.create({
      customerKey: "alice",
      planExternalIds: ["pro"],
      subscriptionExternalId: "order-1"
    })
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `${path}?tab=subscriptions&customerKey=bob`
    })
    await page.getByRole("heading", { name: "No subscription matches" }).waitFor()
    await page.getByRole("button", { name: "Create subscription" }).click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.getByLabel("Customer", { exact: true }).inputValue()).toBe("bob")
    await dialog.getByLabel("Pro (pro)").check()
    await dialog.getByText("Your ids, dates, metadata").click()
    await dialog.getByLabel("Your id of the subscription").fill("order-1")
    await dialog.getByRole("button", { name: "Create", exact: true }).click()
    await dialog.getByText("Request id:").waitFor()
    expect(await dialog.getByLabel("Pro (pro)").isChecked()).toBe(true)
    await dialog.getByLabel("Your id of the subscription").fill("")
    await dialog.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByRole("heading", { name: "Subscription of bob" }).waitFor()
    const { data } = await billing.subscriptions.list({ customerKey: "bob" })
    expect(data).toMatchObject([{ customerExternalId: "bob", status: "active", renewalStrategy: "monthly" }])
    expect(withoutStatus(errors, 409)).toEqual([])
    await close()
  })

  it("filters the list, with links that can be shared and the back button", async () => {
    const { billing, path } = await createBucket()
    for (let index = 0; index < 52; index++) {
      await billing.subscriptions.create({
        customerKey: `customer-${index}`,
        customerExternalId: `external-${index}`,
        subscriptionExternalId: `order-${index}`,
        planExternalIds: ["pro"],
        status: index === 3 ? "canceled" : "active"
      })
    }
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `${path}?tab=subscriptions&status=canceled`
    })
    const table = "Subscriptions, oldest first"
    const readCustomers = async () => (await readRows(page, table)).map(([customer]) => customer)
    expect(await readCustomers()).toEqual(["customer-3"])
    await page.getByRole("button", { name: "Clear", exact: true }).click()
    await page.getByText("1–50 of 52").waitFor()
    await page.getByRole("button", { name: "Last", exact: true }).click()
    await page.getByText("51–52 of 52").waitFor()
    await page.getByLabel("Customer", { exact: true }).fill("customer-7")
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await expect.poll(readCustomers).toEqual(["customer-7"])
    await page.goBack()
    await page.getByText("51–52 of 52").waitFor()
    await page.getByLabel("Your id of the customer").fill("external-9")
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await expect.poll(readCustomers).toEqual(["customer-9"])
    await page.getByLabel("Your id of the subscription").fill("order-10")
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await page.getByRole("heading", { name: "No subscription matches" }).waitFor()
    await page.reload()
    await page.getByRole("heading", { name: "No subscription matches" }).waitFor()
    expect(await page.getByLabel("Your id of the subscription").inputValue()).toBe("order-10")
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("shows quotas, counts usage, and says why it is refused", async () => {
    const { billing, subscription, path } = await createSubscription()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByText("0 of 1,000").waitFor()
    expect(await readRows(page, "Rate limits of Pro")).toEqual([["steady", "500", "minute", "500"]])
    expect(await page.getByRole("button", { name: "Count usage" }).isVisible()).toBe(false)
    await page.getByText("Developer tools").click()
    await page.getByRole("button", { name: "Count usage" }).click()
    await page.getByLabel("Amount of requests").fill("850")
    await page.getByLabel("Amount of tokens").fill("51")
    await expectAccessible(page)
    await page.getByRole("button", { name: "Count", exact: true }).click()
    await page
      .getByRole("dialog")
      .getByText(/tokens/i)
      .last()
      .waitFor()
    await page.getByRole("dialog").getByText("Request id:").waitFor()
    expect(await page.getByLabel("Amount of requests").inputValue()).toBe("850")
    await page.getByLabel("Amount of tokens").fill("50")
    await page.getByRole("button", { name: "Count", exact: true }).click()
    await page.getByText("850 of 1,000").waitFor()
    await page.getByText("50 of 50").waitFor()
    await page.getByRole("meter", { name: "Requests (requests): 85% used" }).waitFor()
    await page.getByText(/The quotas reset \w+ \d+, \d+, in/).waitFor()
    // The same amount again is another count, not a repetition of the first.
    for (const used of ["860", "870"]) {
      await page.getByRole("button", { name: "Count usage" }).click()
      await page.getByLabel("Amount of requests").fill("10")
      await page.getByRole("button", { name: "Count", exact: true }).click()
      await page.getByText(`${used} of 1,000`).waitFor()
    }
    expect((await billing.usage.quotas(subscription.id)).meters).toMatchObject({
      requests: { used: 870 },
      tokens: { used: 50 }
    })
    await expectAccessible(page)
    expect(withoutStatus(errors, 429)).toEqual([])
    await close()
  })

  it("reserves, settles and releases", async () => {
    const { billing, subscription, path } = await createSubscription()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    const readUsed = async () => (await billing.usage.quotas(subscription.id)).meters["requests"]?.used
    await page.getByText("Developer tools").click()
    for (const amount of ["400", "300"]) {
      await page.getByRole("button", { name: "Reserve", exact: true }).click()
      await page.getByLabel("Amount of requests").fill(amount)
      if (amount === "400") await expectAccessible(page)
      await page.getByRole("dialog").getByRole("button", { name: "Reserve" }).click()
      await page.getByText(`requests: ${amount}`).waitFor()
    }
    await page.getByText("700 of 1,000").waitFor()
    expect(await readUsed()).toBe(700)
    await expectAccessible(page)

    // Newest first: the first row is the second reservation.
    await page
      .getByRole("button", { name: /^Settle rsv_/ })
      .first()
      .click()
    await page.getByLabel("Amount of requests").fill("120")
    await expectAccessible(page)
    await page.getByRole("button", { name: "Settle", exact: true }).click()
    await page.getByText("520 of 1,000").waitFor()
    await page.getByRole("button", { name: /^Release rsv_/ }).click()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Release", exact: true }).click()
    await page.getByText("120 of 1,000").waitFor()
    expect(await readUsed()).toBe(120)
    const states = (await readRows(page, "Reservations of this tab")).map(([, , state]) => state)
    expect(states).toEqual(["settled", "released"])
    expect(errors).toEqual([])
    await close()
  })

  it("says that a reservation was ended elsewhere", async () => {
    const { billing, subscription, path } = await createSubscription()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByText("Developer tools").click()
    await page.getByRole("button", { name: "Reserve", exact: true }).click()
    await page.getByLabel("Amount of tokens").fill("5")
    await page.getByRole("dialog").getByRole("button", { name: "Reserve" }).click()
    const [[id = ""] = []] = await readRows(page, "Reservations of this tab")
    await billing.usage.release(subscription.id, id)
    await page.getByRole("button", { name: `Settle ${id}` }).click()
    await page.getByRole("button", { name: "Settle", exact: true }).click()
    await page.getByRole("dialog").getByText("Request id:").waitFor()
    expect(await page.getByLabel("Amount of tokens").inputValue()).toBe("5")
    expect(withoutStatus(errors, 409)).toEqual([])
    await close()
  })

  it("edits the status, the plans, the trial and the metadata", async () => {
    const { billing, subscription, path } = await createSubscription()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByRole("button", { name: "Edit", exact: true }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Status").selectOption("trialing")
    await dialog.getByLabel("Pro (pro)").uncheck()
    await dialog.getByLabel("Team (team)").check()
    await dialog.getByLabel("Share of the new plans’ limits in this period").fill("0.5")
    await dialog.getByLabel("Trial ends").fill("2031-05-06T07:08")
    await dialog.getByLabel("Metadata").fill('{"note":"pilot"}')
    await expectAccessible(page)
    await dialog.getByRole("button", { name: "Save", exact: true }).click()
    await dialog.waitFor({ state: "detached" })
    await page.getByText("0 of 4,500").waitFor()
    await page.getByText("trialing", { exact: true }).waitFor()
    const timestamp = await page.evaluate('new Date("2031-05-06T07:08").toISOString()')
    expect(await billing.subscriptions.get(subscription.id)).toMatchObject({
      status: "trialing",
      planExternalIds: ["team"],
      trialEndDate: timestamp,
      metadata: { note: "pilot" }
    })

    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await dialog.getByLabel("Status").selectOption("canceled")
    await dialog.getByLabel("Metadata").fill("")
    await dialog.getByRole("button", { name: "Save", exact: true }).click()
    await dialog.waitFor({ state: "detached" })
    await page.getByText("canceled", { exact: true }).waitFor()
    expect(await billing.subscriptions.get(subscription.id)).toMatchObject({ status: "canceled", metadata: {} })
    await expect
      .poll(async () => {
        await page.reload()
        return (await readRows(page, "Events, newest first")).map(([, type]) => type)
      })
      .toContain("subscription.status_changed")
    expect(errors).toEqual([])
    await close()
  })

  it("shows both versions of a subscription that was changed elsewhere", async () => {
    const { billing, subscription, path } = await createSubscription()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await page.getByLabel("Status").selectOption("past-due")
    await billing.subscriptions.update(subscription.id, { status: "unpaid", planExternalIds: ["team"] })
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("This was changed elsewhere while you edited it").waitFor()
    const rows = page.locator("dialog tbody tr")
    expect(await Promise.all((await rows.all()).map((row) => row.locator("th, td").allTextContents()))).toEqual([
      ["Status", "past-due", "unpaid"],
      ["Plans", "pro", "team"]
    ])
    await expectAccessible(page)
    await page.getByRole("button", { name: "Save mine over it" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await page.getByText("past-due", { exact: true }).waitFor()
    expect(await billing.subscriptions.get(subscription.id)).toMatchObject({
      status: "past-due",
      planExternalIds: ["pro"]
    })

    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await page.getByLabel("Status").selectOption("inactive")
    await billing.subscriptions.update(subscription.id, { metadata: { theirs: true } })
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("button", { name: "Take the server’s" }).click()
    await expect.poll(() => page.getByLabel("Metadata").inputValue()).toContain("theirs")
    expect(await page.getByLabel("Status").inputValue()).toBe("past-due")
    expect(withoutStatus(errors, 412)).toEqual([])
    await close()
  })

  it("overrides meters, rate limits and features, and shows them", async () => {
    const { billing, subscription, path } = await createSubscription()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByRole("button", { name: "Overrides", exact: true }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("button", { name: "Add meter" }).click()
    await dialog.getByLabel("Meter 1: name").fill("requests")
    await dialog.getByLabel("Meter 1: maximum").fill("2500")
    await dialog.getByLabel("Meter 1: limit").selectOption("soft")
    await dialog.getByLabel("Meter 1: overage up to").fill("100")
    await dialog.getByRole("button", { name: "Add rate limit" }).click()
    await dialog.getByLabel("Limit 1: name").fill("steady")
    await dialog.getByLabel("Limit 1: per").selectOption("no limit")
    await dialog.getByRole("button", { name: "Add feature" }).click()
    await dialog.getByRole("button", { name: "Add feature" }).click()
    await dialog.getByLabel("Feature 1: name").fill("exports")
    await dialog.getByLabel("Feature 2: name").fill("sso")
    await dialog.getByLabel("Feature 2: is").selectOption("off")
    await expectAccessible(page)
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("The overrides for alice were saved.").waitFor()
    const overrides = {
      meters: { requests: { max: 2_500, isSoftLimit: true, overageMax: 100 } },
      rateLimits: { steady: null },
      features: { exports: true, sso: false }
    }
    expect((await billing.subscriptions.get(subscription.id)).overrides).toEqual(overrides)
    await page.getByText("requests: 2,500, soft limit, overage up to 100").waitFor()
    await page.getByText("exports: on; sso: off").waitFor()

    await page.getByRole("button", { name: "Overrides", exact: true }).click()
    await billing.subscriptions.update(subscription.id, { overrides: { features: { beta: "yes" } } })
    for (const rows of ["Meters", "Rate limits"]) {
      await dialog.getByRole("button", { name: `${rows}: remove row 1` }).click()
    }
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("beta: yes").waitFor()
    await expectAccessible(page)
    await dialog.getByRole("button", { name: "Take the server’s" }).click()
    await dialog.getByRole("button", { name: "Features: remove row 1" }).click()
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("The overrides for alice were saved.").last().waitFor()
    await expect.poll(async () => (await billing.subscriptions.get(subscription.id)).overrides).toBeUndefined()
    expect(withoutStatus(errors, 412)).toEqual([])
    await close()
  })

  it("plots a meter with another period by itself", async () => {
    const billing = await server.gate.account("acme").meteringBuckets.ensure(`bucket-${++bucketCount}`)
    const meters = {
      requests: { max: 10 },
      calls: { max: 10, period: "day" },
      seats: { max: 10, period: "none" }
    } as const
    await billing.plans.create({ label: "mixed", meters })
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["mixed"] })
    await billing.usage.consume(id, { requests: 1, calls: 2, seats: 3 })
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `/accounts/acme/metering/${billing.id}/subscriptions/${id}?step=period`
    })
    await page.getByText("Show as a table").click()
    const readLast = async () => (await readRows(page, "Usage of the last 30 days, by period, as a table")).at(-1)?.[1]
    await expect.poll(readLast).toBe("2")
    await page.getByLabel("Meter", { exact: true }).selectOption("requests")
    await expect.poll(readLast).toBe("1")
    expect(await page.getByLabel("Meter", { exact: true }).locator("option").allTextContents()).toEqual([
      "calls",
      "requests"
    ])
    expect(errors).toEqual([])
    await close()
  })

  it("removes a subscription after a confirmation", async () => {
    const { billing, path } = await createSubscription()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByRole("button", { name: "Remove", exact: true }).click()
    await page.getByText("set its status to canceled instead").waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Cancel", exact: true }).click()
    expect((await billing.subscriptions.list()).total).toBe(1)
    await page.getByRole("button", { name: "Remove", exact: true }).click()
    await page.getByRole("button", { name: "Remove subscription" }).click()
    await page.getByRole("heading", { name: "There is no subscription yet" }).waitFor()
    expect((await billing.subscriptions.list()).total).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  // At the turn of an hour, the page and the test may have read different steps.
  it("shows what each key and each value of a label used, with a way to the key", { retry: 1 }, async () => {
    const customerKey = `by-key-${bucketCount}`
    const { billing, subscription, path } = await createSubscription(customerKey)
    const production = server.gate.account("acme").keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: customerKey }, { withApiKey: true })
    const metering = { meteringBucketId: billing.id, meters: { tokens: 3 } }
    const labels = { model: hostileText.slice(0, 60) }
    expect((await production.authorize(apiKeys[0].key, { metering, labels })).allowed).toBe(true)
    await billing.usage.consume(subscription.id, { tokens: 2 })
    await eventually(async () => {
      const { data } = await billing.usage.series(subscription.id, { groupBy: "key" })
      if (data.at(-1)?.groups?.length !== 1) throw new Error("The use is not written yet")
    })
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    expect(await readRows(page, "Usage by key")).toEqual([
      [apiKeys[0].id, "0", "3"],
      ["Not known", "0", "2"]
    ])
    await page.getByLabel("Label to group by").fill("model")
    await page.getByRole("button", { name: "Group" }).click()
    expect(await readRows(page, "Usage by model")).toEqual([
      [labels.model, "0", "3"],
      ["Not known", "0", "2"]
    ])
    await expectNoMarkup(page)
    await expectAccessible(page)
    await page.getByLabel("Label to group by").fill("")
    await page.getByRole("button", { name: "Group" }).click()
    await page.getByRole("link", { name: apiKeys[0].id }).click()
    await page.getByRole("link", { name: customerKey, exact: true }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("plots usage by hour, day and period, with the same numbers in the table and the CSV", { retry: 1 }, async () => {
    const { billing, subscription, path } = await createSubscription()
    await billing.usage.consume(subscription.id, { requests: 123, tokens: 4 })
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    const table = async (title: string) => {
      await page
        .getByRole("img", { name: new RegExp(`^${title}:`) })
        .locator("canvas")
        .first()
        .waitFor()
      return readRows(page, `${title}, as a table`)
    }
    const toRows = (series: Awaited<ReturnType<typeof billing.usage.series>>, dates: Intl.DateTimeFormat) =>
      series.data.map(({ start, meters }) => [
        dates.format(new Date(start)),
        String(meters["requests"]),
        String(meters["tokens"])
      ])

    // Once: the table stays open while other numbers are loaded.
    await page.getByText("Show as a table").click()
    const days = await billing.usage.series(subscription.id, { step: "day" })
    expect(days.data.at(-1)?.meters).toEqual({ requests: 123, tokens: 4 })
    expect(await table("Usage of the last 30 days, by day")).toEqual(toRows(days, stepDates))

    await page.getByLabel("Range").selectOption("24 hours")
    await page.getByLabel("Step").selectOption("hour")
    const hours = await billing.usage.series(subscription.id, {
      step: "hour",
      from: new Date(Date.now() - 23 * 3_600_000).toISOString()
    })
    expect(hours.data).toHaveLength(24)
    expect(await table("Usage of the last 24 hours, by hour")).toEqual(toRows(hours, stepTimes))
    const csv = await readDownload(page)
    expect(csv.name).toBe(`usage-${subscription.id}-hour.csv`)
    expect(csv.text).toBe(
      await fetchCsv(`${billing.id}/subscriptions/${subscription.id}`, `step=hour&from=${hours.from}&to=${hours.to}`)
    )
    expect(csv.text).toContain(",123,4\r\n")

    await page.getByLabel("Step").selectOption("period")
    const periods = await billing.usage.series(subscription.id, { step: "period", from: new Date().toISOString() })
    expect((await table("Usage of the last 24 hours, by period")).at(-1)).toEqual(toRows(periods, stepTimes).at(-1))
    await page.getByLabel("Step").selectOption("hour")
    await page.getByLabel("Range").selectOption("90 days")
    await page.getByText("Hours are kept for 8 days.").waitFor()
    await page.getByRole("img", { name: /^Usage of the last 90 days, by hour/ }).waitFor()
    await page.reload()
    expect(await page.getByLabel("Range").inputValue()).toBe("90")
    await page.goBack()
    await expect.poll(() => page.getByLabel("Range").inputValue()).toBe("1")
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("plots a single step", async () => {
    const { billing, pro, path } = await createBucket()
    const quotaResetAnchor = new Date(Date.now() - 10 * 86_400_000).toISOString()
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planIds: [pro.id], quotaResetAnchor })
    await billing.usage.consume(id, { requests: 30 })
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `${path}/subscriptions/${id}?range=1&step=period`
    })
    await page.locator(".plot canvas").first().waitFor()
    await page.getByText("Show as a table").click()
    expect(await readRows(page, "Usage of the last 24 hours, by period, as a table")).toEqual([
      [stepTimes.format(new Date(quotaResetAnchor)), "30", "0"]
    ])
    expect(errors).toEqual([])
    await close()
  })

  // At the turn of an hour, the page and the test may have read different steps.
  it("plots the usage of a metering bucket, records usage, and downloads it", { retry: 1 }, async () => {
    const { billing, subscription } = await createSubscription("carol")
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `/accounts/acme/metering/${billing.id}?tab=usage`
    })
    await page.getByRole("button", { name: "Record usage" }).click()
    await page.getByLabel("Customer", { exact: true }).fill("carol")
    await page.getByLabel("Meter 1").fill("tokens")
    await page.getByLabel("Amount 1").fill("77")
    await expectAccessible(page)
    // The same meter twice: one of the two amounts would be lost.
    await page.getByRole("button", { name: "Add meter" }).click()
    await page.getByLabel("Meter 2").fill("tokens")
    await page.getByLabel("Amount 2").fill("5")
    await page.getByRole("button", { name: "Record", exact: true }).click()
    await page.getByText("A name is given twice").waitFor()
    await page.getByRole("button", { name: "Amounts: remove row 2" }).click()
    await page.getByRole("button", { name: "Record", exact: true }).click()
    await page.getByText("The usage of carol was recorded.").waitFor()
    await page
      .getByRole("img", { name: /^Usage of the last 30 days, by day/ })
      .locator("canvas")
      .first()
      .waitFor()
    expect((await billing.usage.quotas(subscription.id)).meters["tokens"]).toMatchObject({ used: 77, max: 50 })

    await page.getByLabel("Range").selectOption("7 days")
    await page
      .getByRole("img", { name: /^Usage of the last 7 days, by day/ })
      .locator("canvas")
      .first()
      .waitFor()
    await page.getByText("Show as a table").click()
    const { data } = await billing.usage.totals({ from: new Date(Date.now() - 6 * 86_400_000).toISOString() })
    expect(data).toHaveLength(7)
    expect(data.at(-1)?.meters).toEqual({ requests: 0, tokens: 77 })
    expect(await readRows(page, "Usage of the last 7 days, by day, as a table")).toEqual(
      data.map(({ start, meters }) => [
        stepDates.format(new Date(start)),
        String(meters["requests"]),
        String(meters["tokens"])
      ])
    )
    const csv = await readDownload(page)
    expect(csv.name).toBe("usage-day.csv")
    expect(csv.text).toBe(await fetchCsv(billing.id, `from=${data[0]?.start}`))
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("fits a screen of 375 pixels, also with long texts", async () => {
    const long = "a-very-long-text-without-any-spaces-".repeat(6)
    const { billing, pro } = await createBucket()
    const { id } = await billing.subscriptions.create({
      customerKey: long,
      subscriptionExternalId: long,
      planIds: [pro.id],
      metadata: { [long]: long }
    })
    await billing.usage.consume(id, { requests: 1 })
    const path = `/accounts/acme/metering/${billing.id}`
    const context = { viewport: { width: 375, height: 800 } }
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `${path}/subscriptions/${id}`,
      context
    })
    await page
      .getByRole("img", { name: /^Usage of the last/ })
      .locator("canvas")
      .first()
      .waitFor()
    await expectNoSideScroll(page)
    await expectAccessible(page)
    await page.getByText("Show as a table").click()
    await expectNoSideScroll(page)
    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await page.getByLabel("Pro (pro)").waitFor()
    await expectNoSideScroll(page)
    for (const tab of ["subscriptions", "usage"]) {
      await page.goto(`${server.origin}/console/#${path}?tab=${tab}`)
      await page.locator("main section").first().waitFor()
      await page.locator(".loading").first().waitFor({ state: "detached" })
      await expectNoSideScroll(page)
    }
    expect(errors).toEqual([])
    await close()
  })

  it("says that a subscription does not exist", async () => {
    const { path } = await createBucket()
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: `${path}/subscriptions/sbsc_none`
    })
    await page.getByText("Request id:").waitFor()
    expect(await page.getByRole("button", { name: "Edit", exact: true }).count()).toBe(0)
    expect(withoutStatus(errors, 404)).toEqual([])
    await close()
  })
})
