import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectNoMarkup, expectNoSideScroll, hostileText, readRows, withoutStatus } from "../../ui/test/pageChecks.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer
let bucketCount = 0

const getAccount = () => server.gate.account("acme")

/** A metering bucket of the test's own, with the plan "pro". */
const createBucket = async () => {
  const billing = await getAccount().meteringBuckets.ensure(`bucket-${++bucketCount}`)
  const plan = await billing.plans.create({
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: 1_000, label: "Requests" } },
    rateLimits: { steady: { limit: 5, per: "minute" } }
  })
  return { billing, plan, path: `/accounts/acme/metering/${billing.id}` }
}

const fillMeter = async (page: Page, number: number, name: string, max: string): Promise<void> => {
  await page.getByLabel(`Meter ${number}: name`).fill(name)
  await page.getByLabel(`Meter ${number}: maximum`).fill(max)
}

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

describe("metering buckets and plans in the console", () => {
  it("creates the first metering bucket, and removes it when its name is typed", async () => {
    const account = server.gate.account("new-account")
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/new-account/metering"
    })
    await page.getByRole("heading", { name: "There is no metering bucket yet" }).waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Create metering bucket" }).click()
    await page.getByLabel("Name").fill("billing")
    await expectAccessible(page)
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByRole("heading", { name: "billing", level: 1 }).waitFor()
    expect((await account.meteringBuckets.list({ name: "billing" })).total).toBe(1)

    await page.getByRole("button", { name: "Remove", exact: true }).click()
    const confirm = page.getByRole("button", { name: "Remove metering bucket" })
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByLabel("Type billing to confirm").fill("billin")
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByLabel("Type billing to confirm").fill("billing")
    await expectAccessible(page)
    await confirm.click()
    await page.getByRole("heading", { name: "There is no metering bucket yet" }).waitFor()
    expect((await account.meteringBuckets.list()).total).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("keeps the name of a new metering bucket when it is taken", async () => {
    await getAccount().meteringBuckets.ensure("taken")
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/acme/metering?all=1" })
    await page.getByRole("button", { name: "Create metering bucket" }).click()
    await page.getByLabel("Name").fill("taken")
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByText("Request id:").waitFor()
    expect(await page.getByLabel("Name").inputValue()).toBe("taken")
    expect(withoutStatus(errors, 409)).toEqual([])
    await close()
  })

  it("creates a plan with everything that a plan has", async () => {
    const { id, plans } = await getAccount().meteringBuckets.ensure("empty")
    const { page, errors, close } = await openConsole(browser, server.origin, { path: `/accounts/acme/metering/${id}` })
    await page.getByRole("heading", { name: "There is no plan yet" }).waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Create plan" }).click()
    await page.getByLabel("Label", { exact: true }).fill(hostileText)
    await page.getByLabel("Your id of the plan").fill(`${hostileText}-id`)
    await fillMeter(page, 1, "requests", "1000")
    await page.getByLabel("Meter 1: label").fill(`${hostileText} meter`)
    await page.getByRole("button", { name: "Add meter" }).click()
    await fillMeter(page, 2, "tokens", "0")
    await page.getByRole("button", { name: "Add meter" }).click()
    await page.getByRole("button", { name: "Meters: remove row 3" }).click()
    await page.getByLabel("Meter 1: resets").selectOption("day")
    await page.getByLabel("Meter 2: resets").selectOption("none")
    await page.getByLabel("Meter 2: soft limit").check()
    await page.getByLabel("Meter 2: overage up to").fill("25")
    for (const number of [1, 2, 3]) {
      await page.getByRole("button", { name: "Add feature" }).click()
      await page.getByLabel(`Feature ${number}: name`).fill(`feature-${number}`)
    }
    await page.getByLabel("Feature 2: is").selectOption("number")
    await page.getByLabel("Feature 2: value").fill("5")
    await page.getByLabel("Feature 3: is").selectOption("text")
    await page.getByLabel("Feature 3: value").fill(hostileText)
    for (const number of [1, 2]) {
      await page.getByRole("button", { name: "Add rate limit" }).click()
      await page.getByLabel(`Limit ${number}: name`).fill(`limit-${number}`)
      await page.getByLabel(`Limit ${number}: requests`).fill("5")
    }
    await page.getByLabel("Limit 1: per").selectOption("hour")
    await page.getByLabel("Limit 1: at once").fill("20")
    await page.getByLabel("Limit 2: per").selectOption("custom")
    await page.getByLabel("Limit 2: milliseconds").fill("250")
    await page.getByLabel("Trial in days").fill("14")
    await page.getByLabel("After the trial").selectOption("canceled")
    await page.getByLabel(/^Collect payment/).check()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Create", exact: true }).click()

    const rows = await readRows(page, "All plans")
    expect(rows).toEqual([
      [
        hostileText,
        `${hostileText}-id`,
        `requests: 1,000 (${hostileText} meter), by day; tokens: 0, never resets, soft limit, overage up to 25`,
        "limit-1: 5 per hour, at most 20 at once; limit-2: 5 per 250 ms",
        "14 days",
        "unused"
      ]
    ])
    expect((await plans.list()).data).toMatchObject([
      {
        label: hostileText,
        planExternalId: `${hostileText}-id`,
        meters: {
          requests: { max: 1_000, label: `${hostileText} meter`, period: "day" },
          tokens: { max: 0, period: "none", isSoftLimit: true, overageMax: 25 }
        },
        features: { "feature-1": true, "feature-2": 5, "feature-3": hostileText },
        rateLimits: {
          "limit-1": { limit: 5, per: "hour", burst: 20 },
          "limit-2": { limit: 5, per: 250 }
        },
        trialDays: 14,
        trialEndStatus: "canceled",
        isTrialCollectPayment: true
      }
    ])
    await expectAccessible(page)
    await page.getByRole("link", { name: hostileText }).click()
    await page.getByRole("heading", { name: hostileText, level: 1 }).waitFor()
    expect(await readRows(page, "Meters of the plan")).toEqual([
      ["requests", `${hostileText} meter`, "1,000", "by day", "refused"],
      ["tokens", "–", "0", "never resets", "counted up to 25"]
    ])
    expect(await readRows(page, "Features of the plan")).toEqual([
      ["feature-1", "on"],
      ["feature-2", "5"],
      ["feature-3", hostileText]
    ])
    await expectNoMarkup(page)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("keeps everything that was entered for a plan when saving fails", async () => {
    const { billing, path } = await createBucket()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByRole("button", { name: "Create plan" }).click()
    await page.getByLabel("Label", { exact: true }).fill("Another")
    await page.getByLabel("Your id of the plan").fill("pro")
    await fillMeter(page, 1, "requests", "7")
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByText('Another plan in this metering bucket has the planExternalId "pro"').waitFor()
    expect(await page.getByLabel("Label", { exact: true }).inputValue()).toBe("Another")
    expect(await page.getByLabel("Meter 1: maximum").inputValue()).toBe("7")
    await expectAccessible(page)
    await page.getByLabel("Your id of the plan").fill("another")
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByRole("link", { name: "Another" }).waitFor()
    expect((await billing.plans.list()).data.map(({ planExternalId }) => planExternalId)).toEqual(["pro", "another"])
    expect(withoutStatus(errors, 409)).toEqual([])
    await close()
  })

  it("refuses a meter that is given twice, before anything is sent", async () => {
    const { billing, path } = await createBucket()
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByRole("button", { name: "Create plan" }).click()
    await page.getByLabel("Label", { exact: true }).fill("Twice")
    await page.getByLabel("Your id of the plan").fill("twice")
    await fillMeter(page, 1, "requests", "7")
    await page.getByRole("button", { name: "Add meter" }).click()
    await fillMeter(page, 2, "requests", "8")
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByText("There are two rows with the name “requests”.").waitFor()
    expect((await billing.plans.list()).total).toBe(1)
    expect(errors).toEqual([])
    await close()
  })

  it("edits a plan, and shows the problems that the server finds", async () => {
    const { billing, plan, path } = await createBucket()
    const { page, errors, close } = await openConsole(browser, server.origin, { path: `${path}/plans/${plan.id}` })
    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await expectAccessible(page)
    await page.getByLabel("Label", { exact: true }).fill("Pro 2")
    await page.getByLabel("Meter 1: name").fill("not a name")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("alert").getByText("/meters/not a name", { exact: true }).waitFor()
    await page.getByLabel("Meter 1: name").fill("requests")
    await page.getByLabel("Meter 1: maximum").fill("2000")
    await page.getByRole("button", { name: "Rate limits: remove row 1" }).click()
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("heading", { name: "Pro 2", level: 1 }).waitFor()
    expect(await readRows(page, "Meters of the plan")).toEqual([
      ["requests", "Requests", "2,000", "period of the subscription", "refused"]
    ])
    const saved = await billing.plans.get(plan.id)
    expect(saved).toMatchObject({ label: "Pro 2", planExternalId: "pro", meters: { requests: { max: 2_000 } } })
    expect(saved.rateLimits ?? {}).toEqual({})
    expect(withoutStatus(errors, 400)).toEqual([])
    await close()
  })

  it("shows both versions of a plan that was changed elsewhere", async () => {
    const { billing, plan, path } = await createBucket()
    const { page, errors, close } = await openConsole(browser, server.origin, { path: `${path}/plans/${plan.id}` })
    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await page.getByLabel("Label", { exact: true }).fill("Mine")
    await billing.plans.update(plan.id, { label: "Theirs", meters: { requests: { max: 5 } } })
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("This was changed elsewhere while you edited it").waitFor()
    await page.getByRole("cell", { name: "Theirs" }).waitFor()
    await page.getByRole("cell", { name: "Mine" }).waitFor()
    await page.getByRole("cell", { name: "requests: 5", exact: true }).waitFor()
    await expectAccessible(page)
    expect((await billing.plans.get(plan.id)).label).toBe("Theirs")
    await page.getByRole("button", { name: "Save mine over it" }).click()
    await page.getByRole("heading", { name: "Mine", level: 1 }).waitFor()
    expect(await billing.plans.get(plan.id)).toMatchObject({ label: "Mine", meters: { requests: { max: 1_000 } } })

    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await page.getByLabel("Label", { exact: true }).fill("Mine again")
    await billing.plans.update(plan.id, { label: "Theirs again" })
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("button", { name: "Take the server’s" }).click()
    await expect.poll(() => page.getByLabel("Label", { exact: true }).inputValue()).toBe("Theirs again")
    await page.getByLabel("Label", { exact: true }).fill("Agreed")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("heading", { name: "Agreed", level: 1 }).waitFor()
    expect(withoutStatus(errors, 412)).toEqual([])
    await close()
  })

  it("removes a plan, unless it has subscriptions", async () => {
    const { billing, plan, path } = await createBucket()
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planIds: [plan.id] })
    const { page, errors, close } = await openConsole(browser, server.origin, { path: `${path}/plans/${plan.id}` })
    await page.getByRole("button", { name: "Remove", exact: true }).click()
    await page.getByText("This plan has subscriptions").waitFor()
    await page.getByRole("button", { name: "Remove plan" }).click()
    await page.getByText("Plan in use").waitFor()
    await expectAccessible(page)
    await page.getByRole("link", { name: "the subscriptions" }).click()
    await page.getByRole("link", { name: "alice", exact: true }).waitFor()

    await billing.subscriptions.remove(id)
    await page.goBack()
    await page.getByRole("button", { name: "Remove", exact: true }).click()
    await page.getByText("No subscription uses it.").waitFor()
    await page.getByRole("button", { name: "Remove plan" }).click()
    await page.getByRole("heading", { name: "There is no plan yet" }).waitFor()
    expect((await billing.plans.list()).total).toBe(0)
    expect(withoutStatus(errors, 409)).toEqual([])
    await close()
  })

  it("shows no buttons that change something to a read-only token", async () => {
    const { billing, plan, path } = await createBucket()
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planIds: [plan.id] })
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/acme/metering",
      token: readToken
    })
    const readButtons = () => page.locator("main").getByRole("button").allTextContents()
    await page.getByRole("table", { name: "Metering buckets" }).waitFor()
    expect(await readButtons()).toEqual([])
    await page.goto(`${server.origin}/console/#${path}`)
    await page.getByRole("table", { name: "All plans" }).waitFor()
    expect(await readButtons()).toEqual([])
    await page.goto(`${server.origin}/console/#${path}?tab=subscriptions`)
    await page.getByRole("table", { name: "Subscriptions, oldest first" }).waitFor()
    expect(await readButtons()).toEqual(["Filter", "Clear"])
    await page.goto(`${server.origin}/console/#${path}?tab=usage`)
    await page.getByRole("heading", { name: "Usage of all subscriptions" }).waitFor()
    await expect.poll(readButtons).toEqual(["Download CSV"])
    await page.goto(`${server.origin}/console/#${path}/plans/${plan.id}`)
    await page.getByRole("table", { name: "Meters of the plan" }).waitFor()
    expect(await readButtons()).toEqual(["Copy"])
    await page.goto(`${server.origin}/console/#${path}/subscriptions/${id}`)
    await page.getByRole("heading", { name: "Usage", exact: true }).waitFor()
    await expect.poll(readButtons).toEqual(["Copy", "Download CSV", "Group"])
    expect(errors).toEqual([])
    await close()
  })

  it("pages through the plans, with links that can be shared", async () => {
    const { billing, path } = await createBucket()
    for (let index = 0; index < 55; index++)
      await billing.plans.create({ label: `Plan ${index}`, meters: { requests: { max: index } } })
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByText("1–50 of 56").waitFor()
    await page.getByRole("button", { name: "Next", exact: true }).click()
    await page.getByText("51–56 of 56").waitFor()
    expect(await readRows(page, "All plans")).toHaveLength(6)
    const link = page.url()
    await page.goBack()
    await page.getByText("1–50 of 56").waitFor()
    await page.goto(link)
    await page.reload()
    await page.getByText("51–56 of 56").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("fits a screen of 375 pixels, also with long texts", async () => {
    const { billing, path } = await createBucket()
    const label = "a-very-long-label-without-any-spaces-".repeat(6)
    const { id } = await billing.plans.create({ label, meters: { requests: { max: 1e15, label } } })
    const context = { viewport: { width: 375, height: 800 } }
    const { page, errors, close } = await openConsole(browser, server.origin, { path, context })
    await page.getByRole("link", { name: label }).waitFor()
    await expectNoSideScroll(page)
    await page.getByRole("button", { name: "Create plan" }).click()
    await page.getByRole("button", { name: "Add rate limit" }).click()
    await expectNoSideScroll(page)
    await expectAccessible(page)
    await page.goto(`${server.origin}/console/#${path}/plans/${id}`)
    await page.getByRole("heading", { name: label, level: 1 }).waitFor()
    await expectNoSideScroll(page)
    await expectAccessible(page)
    await page.goto(`${server.origin}/console/#/accounts/acme/metering`)
    await page.getByRole("table", { name: "Metering buckets" }).waitFor()
    await expectNoSideScroll(page)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })
})
