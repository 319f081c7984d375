import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectFailedRequests } from "../../ui/test/expectErrors.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

const manyConsumers = 1_200
const consumersOf = (bucket: string, account = "acme") => server.gate.account(account).keyBucket(bucket).consumers

const open = (path: string, options: Parameters<typeof openConsole>[2] = {}) =>
  openConsole(browser, server.origin, { path, ...options })

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true })
const dialog = (page: Page, name: string) => page.getByRole("dialog", { name, exact: true })
const table = (page: Page, name: string) => page.getByRole("table", { name, exact: true })
const button = (page: Pick<Page, "getByRole">, name: string) => page.getByRole("button", { name, exact: true })

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  const consumers = consumersOf("many")
  await Promise.all(
    Array.from({ length: manyConsumers }, (_, index) =>
      consumers.create({
        name: `consumer-${String(index).padStart(4, "0")}`,
        tags: { shard: index % 12, even: index % 2 === 0 }
      })
    )
  )
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

describe("key buckets in the console", () => {
  it("says what to do in an empty account, and opens a bucket by name", async () => {
    const { page, errors, close } = await open("/accounts/nobody/consumers")
    await page.getByRole("heading", { name: "There is no API yet" }).waitFor()
    await expectAccessible(page)
    await page.getByLabel("Open an API by name").fill("-no")
    await button(page, "Open").click()
    await page.getByText("beginning with a letter or a digit").waitFor()
    await page.getByLabel("Open an API by name").fill("staging")
    await button(page, "Open").click()
    await heading(page, "Consumers in staging").waitFor()
    await page.getByRole("heading", { name: "There is no consumer yet" }).waitFor()
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("lists the buckets of the account", async () => {
    await consumersOf("production").create({ name: "first" })
    const { page, errors, close } = await open("/accounts/acme/consumers")
    await table(page, "APIs").waitFor()
    await expectAccessible(page)
    await page.getByRole("link", { name: "production", exact: true }).click()
    await page.getByRole("link", { name: "first", exact: true }).waitFor()
    expect(errors).toEqual([])
    await close()
  })
})

describe("the list of consumers in the console", () => {
  it("pages through 1,200 consumers, with the page in the address", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/many")
    await page.getByText("1–50 of 1,200").waitFor()
    expect(await table(page, "Consumers").getByRole("row").count()).toBe(51)
    await button(page, "Next").click()
    await page.getByRole("link", { name: "consumer-0050" }).waitFor()
    await button(page, "Last").click()
    await page.getByRole("link", { name: "consumer-1199" }).waitFor()
    await page.getByText("1,151–1,200 of 1,200").waitFor()
    expect(page.url()).toContain("offset=1150")
    await page.goBack()
    await page.getByRole("link", { name: "consumer-0050" }).waitFor()
    await page.goBack()
    await page.getByRole("link", { name: "consumer-0000" }).waitFor()
    // One request of 50 consumers for each page, however many there are.
    const requests = server.responses.filter((response) => response.includes("/key-buckets/many/consumers"))
    const path = "200 GET /v1/accounts/acme/key-buckets/many/consumers?limit=50&offset="
    const keys = "&include-api-keys=true&key-format=none"
    expect(requests).toEqual([0, 50, 1150, 50, 0].map((offset) => `${path}${offset}${keys}`))
    expect(errors).toEqual([])
    await close()
  })

  it("shows a page that a link names, and an offset that is no number as the first", async () => {
    const linked = await open("/accounts/acme/consumers/many?offset=600")
    await linked.page.getByRole("link", { name: "consumer-0600" }).waitFor()
    expect(linked.errors).toEqual([])
    await linked.close()
    const filtered = await open("/accounts/acme/consumers/many?tag.shard=6&offset=90")
    await filtered.page.getByText("91–100 of 100").waitFor()
    await expectAccessible(filtered.page)
    expect(filtered.errors).toEqual([])
    await filtered.close()
    const wrong = await open("/accounts/acme/consumers/many?offset=-1e9")
    await wrong.page.getByRole("link", { name: "consumer-0000" }).waitFor()
    expect(wrong.errors).toEqual([])
    await wrong.close()
  })

  it("filters by several tags, and keeps them in the address", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/many")
    await page.getByLabel("Tag", { exact: true }).fill("shard=6")
    await button(page, "Filter").click()
    await page.getByText("1–50 of 100").waitFor()
    await page.getByRole("link", { name: "consumer-0006" }).waitFor()
    await page.getByLabel("Tag", { exact: true }).fill("even=false")
    await button(page, "Filter").click()
    await page.getByRole("heading", { name: "No consumer matches" }).waitFor()
    expect(page.url()).toContain("tag.shard=6&tag.even=false")
    await expectAccessible(page)
    await button(page, "Remove the filter shard=6").click()
    await page.getByText("1–50 of 600").waitFor()
    await page.getByLabel("Tag", { exact: true }).fill("no value")
    await button(page, "Filter").click()
    await page.getByText("Write name=value").waitFor()
    await button(page, "Clear").click()
    await page.getByText("1–50 of 1,200").waitFor()
    await page.getByRole("link", { name: "shard=7", exact: true }).first().click()
    await page.getByText("1–50 of 100").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("finds consumers by the beginning of a part of a name, and says when there is none", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/many")
    const search = page.getByLabel("Search", { exact: true })
    await search.fill("077")
    await button(page, "Filter").click()
    await expect.poll(() => table(page, "Consumers").getByRole("row").count()).toBe(11)
    await expectAccessible(page)
    await page.getByRole("link", { name: "consumer-0777" }).click()
    await heading(page, "consumer-0777").waitFor()
    await page.goBack()
    await expect.poll(() => search.inputValue()).toBe("077")
    await page.getByRole("link", { name: "consumer-0777" }).waitFor()
    expect(page.url()).toContain("search=077")
    await search.fill("onsumer")
    await button(page, "Filter").click()
    await page.getByRole("heading", { name: "No consumer matches" }).waitFor()
    await search.fill("x")
    await button(page, "Filter").click()
    await page.getByText("Write 2 to 32 characters").waitFor()
    await search.fill("")
    await page.getByLabel("Tag", { exact: true }).fill("shard=6")
    await button(page, "Filter").click()
    await page.getByText("1–50 of 100").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("filters by the e-mail address of a manager", async () => {
    await consumersOf("managed").create({ name: "with-invite", managers: ["Ann@example.com"] })
    await consumersOf("managed").create({ name: "with-manager", managers: [{ sub: "u1", email: "ann@example.com" }] })
    await consumersOf("managed").create({ name: "without" })
    const { page, errors, close } = await open("/accounts/acme/consumers/managed")
    await page.getByRole("link", { name: "without" }).waitFor()
    await page.getByLabel("Manager’s e-mail").fill("ann@example.com")
    await button(page, "Filter").click()
    await expect.poll(() => table(page, "Consumers").getByRole("row").count()).toBe(3)
    expect(page.url()).toContain("manager=ann%40example.com")
    await page.getByLabel("Search", { exact: true }).fill("without")
    await button(page, "Filter").click()
    await expect.poll(() => table(page, "Consumers").getByRole("row").count()).toBe(2)
    expect(errors).toEqual([])
    await close()
  })
})

describe("creating a consumer in the console", () => {
  it("creates one with tags, metadata, managers and a key that is shown once", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/created")
    await button(page, "Create the first consumer").click()
    const form = dialog(page, "Create a consumer")
    await expectAccessible(page)
    await form.getByLabel("Name", { exact: true }).fill("alice")
    await form.getByLabel("Description").fill("The first")
    await form.getByLabel("Customer").fill("cus_42")
    await button(page, "Add tag").click()
    await form.getByLabel("Tags: name 1").fill("plan")
    await form.getByLabel("Tags: value 1").fill("pro")
    await form.getByLabel("Metadata").fill('{"team": {"size": 3}}')
    await form.getByLabel("E-mail addresses").fill("ann@example.com\nbob@example.com")
    await button(page, "Create consumer").last().click()
    const secret = dialog(page, "The key of alice")
    await secret.waitFor()
    await expectAccessible(page)
    const key = (await secret.locator("code").textContent()) ?? ""
    expect(await server.gate.account("acme").keyBucket("created").verify(key)).toMatchObject({ valid: true })
    await secret.getByRole("button", { name: "Done", exact: true }).click()
    await heading(page, "alice").waitFor()
    expect(await page.content()).not.toContain(key)
    expect(await page.locator("dt", { hasText: "Manager (e-mail)" }).locator("+ dd").textContent()).toMatch(
      /^ann@example\.com, added .+bob@example\.com, added ./
    )
    expect(await page.content()).not.toMatch(/invited/i)
    expect(await consumersOf("created").get("alice", { managerInvites: true })).toMatchObject({
      description: "The first",
      customerKey: "cus_42",
      tags: { plan: "pro" },
      metadata: { team: { size: 3 } },
      managerInvites: [{ email: "ann@example.com" }, { email: "bob@example.com" }]
    })
    expect(errors).toEqual([])
    await close()
  })

  it("creates one without a key and with managers of the identity provider", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/created")
    await button(page, "Create consumer").click()
    const form = dialog(page, "Create a consumer")
    await form.getByLabel("Name", { exact: true }).fill("keyless")
    await form.getByLabel("Managers").selectOption({ label: "Users of your identity provider" })
    await form.getByLabel("Users", { exact: true }).fill("auth0|1 ann@example.com\nauth0|2")
    await form.getByLabel("Create a key").uncheck()
    await form.getByRole("button", { name: "Create consumer" }).click()
    await heading(page, "keyless").waitFor()
    await page.getByRole("heading", { name: "No keys" }).waitFor()
    await page.getByText("auth0|1").waitFor()
    const { managers } = await consumersOf("created").get("keyless", { managers: true })
    expect(managers).toMatchObject([{ sub: "auth0|1", email: "ann@example.com" }, { sub: "auth0|2" }])
    expect(errors).toEqual([])
    await close()
  })

  it("says what is wrong with each field, and keeps the input", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/created")
    await button(page, "Create consumer").click()
    const form = dialog(page, "Create a consumer")
    await form.getByLabel("Name", { exact: true }).fill("Upper Case")
    await button(page, "Add tag").click()
    await button(page, "Add tag").click()
    for (const row of [1, 2]) await form.getByLabel(`Tags: name ${row}`).fill("same")
    await form.getByLabel("E-mail addresses").fill("nobody")
    const metadata = form.getByLabel("Metadata")
    const submit = form.getByRole("button", { name: "Create consumer" })
    await metadata.fill("{ team: 1 }")
    await submit.click()
    await form.getByText("lower-case letters, digits and “-”.", { exact: false }).last().waitFor()
    await form.getByText("The name “same” is used twice.").waitFor()
    await form.getByText("“nobody” is not an e-mail address.").waitFor()
    await form.getByText(/This is not JSON: .*position 2/).waitFor()
    await expectAccessible(page)
    await metadata.fill("[1]")
    await form.getByText("The outermost value must be an object").waitFor()
    await metadata.fill(JSON.stringify({ text: "x".repeat(70_000) }))
    await form.getByText("It takes 70,011 bytes; the limit is 65,536.").waitFor()
    expect(await form.getByLabel("Tags: name 2").inputValue()).toBe("same")
    expect(errors).toEqual([])
    await close()
  })

  it("keeps the input when the name is taken", async () => {
    await consumersOf("taken").create({ name: "bob" })
    const { page, errors, close } = await open("/accounts/acme/consumers/taken")
    await button(page, "Create consumer").click()
    const form = dialog(page, "Create a consumer")
    await form.getByLabel("Name", { exact: true }).fill("bob")
    await form.getByLabel("Description").fill("Another Bob")
    await form.getByRole("button", { name: "Create consumer" }).click()
    await form.getByRole("alert").getByText("bob").waitFor()
    await form.getByText("Request id:").waitFor()
    expect(await form.getByLabel("Description").inputValue()).toBe("Another Bob")
    expectFailedRequests(errors, [409])
    await form.getByLabel("Name", { exact: true }).fill("bob-2")
    await form.getByRole("button", { name: "Create consumer" }).click()
    await dialog(page, "The key of bob-2").waitFor()
    expect((await consumersOf("taken").get("bob-2")).description).toBe("Another Bob")
    await close()
  })
})

describe("verifying a key in the console", () => {
  it("tells whose key it is, or that it is not valid", async () => {
    const { apiKeys } = await consumersOf("verify").create(
      { name: "carol", tags: { plan: "pro" } },
      { withApiKey: true }
    )
    const { page, errors, close } = await open("/accounts/acme/consumers/verify", { token: readToken })
    await page.getByLabel("Key value").fill(apiKeys[0].key ?? "")
    await button(page, "Verify").click()
    await page.getByText("Valid", { exact: true }).waitFor()
    await page.getByText(apiKeys[0].id).waitFor()
    await expectAccessible(page)
    await page.getByLabel("Key value").fill("not-a-key-of-anyone")
    await button(page, "Verify").click()
    await page.getByText("Not valid: the key is unknown in verify").waitFor()
    expect(errors).toEqual([])
    await close()
  })
})

describe("one consumer in the console", () => {
  it("shows its fields and edits all that can be changed; unchanged tags keep their type", async () => {
    await consumersOf("edited").create({ name: "dave", tags: { seats: 5, plan: "free" }, metadata: { a: 1 } })
    const { page, errors, close } = await open("/accounts/acme/consumers/edited/dave")
    await page.getByRole("link", { name: "seats=5" }).waitFor()
    await expectAccessible(page)
    await button(page, "Edit").click()
    const form = dialog(page, "Edit dave")
    await form.getByLabel("Description").fill("Now with text")
    await form.getByLabel("Tags: value 2").fill("pro")
    await form.getByLabel("Metadata").fill('{"a": 2, "list": [true, null]}')
    await expectAccessible(page)
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.waitFor({ state: "detached" })
    await page.getByText("Now with text").waitFor()
    expect(await consumersOf("edited").get("dave")).toMatchObject({
      description: "Now with text",
      tags: { seats: 5, plan: "pro" },
      metadata: { a: 2, list: [true, null] }
    })
    await button(page, "Edit").click()
    await form.getByLabel("Description").fill("")
    await button(page, "Remove seats").click()
    await form.getByLabel("Metadata").fill("")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.waitFor({ state: "detached" })
    const { description, tags, metadata = {} } = await consumersOf("edited").get("dave")
    expect({ description, tags, metadata }).toEqual({ description: undefined, tags: { plan: "pro" }, metadata: {} })
    expect(errors).toEqual([])
    await close()
  })

  it("shows both when another tab has changed it, and saves mine over it", async () => {
    await consumersOf("conflict").create({ name: "erin", description: "before" })
    const { page, errors, close } = await open("/accounts/acme/consumers/conflict/erin")
    await button(page, "Edit").click()
    const form = dialog(page, "Edit erin")
    await form.getByLabel("Description").fill("mine")
    await consumersOf("conflict").update("erin", { description: "theirs", tags: { by: "another" } })
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.getByText("This was changed elsewhere while you edited it").waitFor()
    await form.getByRole("cell", { name: "theirs" }).waitFor()
    await form.getByRole("cell", { name: "mine" }).waitFor()
    await form.getByRole("cell", { name: "by=another" }).waitFor()
    await expectAccessible(page)
    expect((await consumersOf("conflict").get("erin")).description).toBe("theirs")
    await button(page, "Save mine over it").click()
    await form.waitFor({ state: "detached" })
    expect((await consumersOf("conflict").get("erin")).description).toBe("mine")
    expectFailedRequests(errors, [412])
    await close()
  })

  it("takes the server's version on a conflict, and edits that", async () => {
    await consumersOf("conflict").create({ name: "frank", description: "before" })
    const { page, errors, close } = await open("/accounts/acme/consumers/conflict/frank")
    await button(page, "Edit").click()
    const form = dialog(page, "Edit frank")
    await form.getByLabel("Description").fill("mine")
    await consumersOf("conflict").update("frank", { description: "theirs" })
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await button(page, "Take the server’s").click()
    await expect.poll(() => form.getByLabel("Description").inputValue()).toBe("theirs")
    await form.getByLabel("Description").fill("theirs and mine")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.waitFor({ state: "detached" })
    expect((await consumersOf("conflict").get("frank")).description).toBe("theirs and mine")
    expectFailedRequests(errors, [412])
    await close()
  })

  it("stops it, and lets it call again", async () => {
    const { apiKeys = [] } = await consumersOf("stopped").create({ name: "judy" }, { withApiKey: true })
    const isValid = async () =>
      (
        await server.gate
          .account("acme")
          .keyBucket("stopped")
          .verify(apiKeys[0]?.key ?? "")
      ).valid
    const { page, errors, close } = await open("/accounts/acme/consumers/stopped/judy")
    await button(page, "Stop").click()
    await expectAccessible(page)
    expect(await isValid()).toBe(true)
    await button(page, "Stop consumer").click()
    await page.getByText("This consumer is stopped").waitFor()
    expect(await isValid()).toBe(false)
    await expectAccessible(page)
    await button(page, "Let it call again").click()
    await button(page, "Stop").waitFor()
    expect(await isValid()).toBe(true)
    await expect
      .poll(async () => {
        await button(page, "Refresh events").click()
        return page.getByRole("link", { name: "consumer.updated" }).count()
      })
      .toBe(2)
    expect(errors).toEqual([])
    await close()
  })

  it("removes it after its name was typed", async () => {
    await consumersOf("removed").create({ name: "grace" })
    const { page, errors, close } = await open("/accounts/acme/consumers/removed/grace")
    await button(page, "Remove").click()
    await expectAccessible(page)
    const confirm = button(page, "Remove consumer")
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByLabel("Type grace to confirm").fill("grace")
    await confirm.click()
    await heading(page, "Consumers in removed").waitFor()
    await page.getByRole("heading", { name: "There is no consumer yet" }).waitFor()
    expect((await consumersOf("removed").list()).total).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("says that a consumer does not exist", async () => {
    const { page, errors, close } = await open("/accounts/acme/consumers/removed/nobody")
    await page.getByRole("heading", { name: /^There is no consumer / }).waitFor()
    await page.getByRole("link", { name: "Who removed consumers" }).waitFor()
    await expectAccessible(page)
    expectFailedRequests(errors, [404])
    await close()
  })

  it("shows subscriptions with quotas, usage and events", async () => {
    await consumersOf("metered").create({ name: "heidi" })
    const metering = await server.gate.account("acme").meteringBuckets.ensure("api")
    const plan = await metering.plans.create({ label: "Pro", meters: { requests: { max: 1000 } } })
    const subscription = await metering.subscriptions.create({ customerKey: "heidi", planIds: [plan.id] })
    await metering.subscriptions.create({ customerKey: "somebody-else", planIds: [plan.id] })
    await metering.usage.consume(subscription.id, { requests: 850 })
    const { page, errors, close } = await open("/accounts/acme/consumers/metered/heidi")
    await page.getByText("850 of 1,000").waitFor()
    const section = page.getByRole("region", { name: "Subscriptions and usage" })
    expect(await section.getByRole("meter", { name: "requests" }).count()).toBe(1)
    await section.getByText("Show as a table").click()
    await page
      .getByRole("table", { name: "Usage of the last 30 days in api" })
      .getByRole("cell", { name: "850" })
      .waitFor()
    expect(await section.locator("canvas").count()).toBe(1)
    await expectAccessible(page)
    const link = await section.getByRole("link", { name: "Pro", exact: true }).getAttribute("href")
    expect(link).toBe(`#/accounts/acme/metering/${metering.id}/subscriptions/${subscription.id}`)
    await expect
      .poll(async () => {
        await button(page, "Refresh events").click()
        return page.getByText("consumer.created").count()
      })
      .toBe(1)
    expect(errors).toEqual([])
    await close()
  })
})

describe("the plan of a consumer in the console", () => {
  const subscribe = async (name: string, more: object = {}) => {
    await consumersOf("selling").create({ name })
    const billing = await server.gate.account("acme").meteringBuckets.ensure(`plans-of-${name}`)
    await billing.plans.create({ label: "free", meters: { requests: { max: 10 } } })
    await billing.plans.create({ label: "pro", meters: { requests: { max: 1_000 } } })
    const { id } = await billing.subscriptions.create({ customerKey: name, planExternalIds: ["free"], ...more })
    const opened = await open(`/accounts/acme/consumers/selling/${name}`)
    const section = opened.page.getByRole("region", { name: "Subscriptions and usage" })
    return { billing, id, ...opened, section, dialog: opened.page.getByRole("dialog") }
  }

  it("changes when the period ends, which can be withdrawn, or at once", async () => {
    const { billing, id, page, section, dialog, errors, close } = await subscribe("oscar")
    await button(section, "Change plan in plans-of-oscar").click()
    await button(dialog, "Change plan").click()
    await dialog.getByText("Choose one plan or more.").waitFor()
    await dialog.getByLabel("pro (pro)").check()
    await expectAccessible(page)
    await button(dialog, "Change plan").click()
    await section.getByText("Changes to pro").waitFor()
    expect((await billing.subscriptions.get(id)).pendingChange).toMatchObject({ planExternalIds: ["pro"] })
    await expectAccessible(page)
    await button(section, "Withdraw").click()
    await section.getByText("Changes to pro").waitFor({ state: "detached" })
    expect(await billing.subscriptions.get(id)).not.toHaveProperty("pendingChange")

    await button(section, "Change plan in plans-of-oscar").click()
    await dialog.getByLabel("pro (pro)").check()
    await dialog.getByLabel("When").selectOption("now")
    await dialog.getByLabel(/^Share of the new plans/).fill("0.5")
    await button(dialog, "Change plan").click()
    await section.getByRole("link", { name: "pro", exact: true }).waitFor()
    expect((await billing.usage.quotas(id)).meters["requests"]).toMatchObject({ max: 500 })
    expect(errors).toEqual([])
    await close()
  })

  it("is canceled when the period ends, or at once, and chosen again", async () => {
    const { billing, id, page, section, dialog, errors, close } = await subscribe("judy")
    await button(section, "Cancel subscription in plans-of-judy").click()
    await expectAccessible(page)
    await button(dialog, "Cancel the subscription").click()
    await section.getByText("Ends").waitFor()
    expect((await billing.subscriptions.get(id)).pendingChange).toMatchObject({ status: "canceled" })
    await button(section, "Cancel subscription in plans-of-judy").click()
    await dialog.getByLabel("When").selectOption("now")
    await button(dialog, "Cancel the subscription").click()
    await section.getByText("canceled").waitFor()
    expect(await billing.subscriptions.get(id)).toMatchObject({ status: "canceled" })
    expect(await button(section, "Cancel subscription in plans-of-judy").count()).toBe(0)
    await button(section, "Change plan in plans-of-judy").click()
    await dialog.getByLabel("free (free)").check()
    await button(dialog, "Change plan").click()
    await section.getByText("active").waitFor()
    expect((await billing.subscriptions.list()).data).toMatchObject([{ id, status: "active" }])
    expect(errors).toEqual([])
    await close()
  })

  it("has a longer trial, and other limits", async () => {
    const trialEndDate = new Date(Date.now() + 3 * 86_400_000).toISOString()
    const { billing, id, section, dialog, errors, close } = await subscribe("karl", {
      status: "trialing",
      trialEndDate
    })
    await button(section, "Extend the trial").click()
    await button(dialog, "Extend").click()
    const readEnd = async () => (await billing.subscriptions.get(id)).trialEndDate ?? ""
    await expect.poll(readEnd).not.toBe(trialEndDate)
    expect(Date.parse(await readEnd()) - Date.parse(trialEndDate)).toBeGreaterThan(6.9 * 86_400_000)
    await button(section, "Override limits").click()
    await button(dialog, "Add meter").click()
    await dialog.getByLabel("Meter 1: name").fill("requests")
    await dialog.getByLabel("Meter 1: maximum").fill("77")
    await button(dialog, "Save").click()
    await section.getByText("0 of 77").waitFor()
    expect(errors).toEqual([])
    await close()
  })
})

describe("the pages of consumers in the console", () => {
  const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>`

  it("shows hostile texts as text", async () => {
    await consumersOf("hostile").create({
      name: "mallory",
      description: hostile,
      tags: { link: "javascript:alert(3)", html: hostile },
      metadata: { [hostile]: hostile, url: "javascript:alert(4)" },
      managers: [{ sub: hostile }]
    })
    await server.gate.account("acme").keyBucket("hostile").keys.create("mallory", { description: hostile })
    const { page, errors, close } = await open("/accounts/acme/consumers/hostile")
    const dialogs: Array<string> = []
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    await page.getByText(hostile, { exact: true }).first().waitFor()
    await page.getByRole("link", { name: "mallory" }).click()
    await heading(page, "mallory").waitFor()
    await table(page, "Keys of this consumer").getByText(hostile).waitFor()
    await page.getByText('"url": "javascript:alert(4)"').waitFor()
    expect(await page.locator("main img, main script, a[href^='javascript:']").count()).toBe(0)
    await page.getByRole("link", { name: "link=javascript:alert(3)" }).click()
    await heading(page, "Consumers in hostile").waitFor()
    await page.getByRole("link", { name: "mallory" }).waitFor()
    expect(dialogs).toEqual([])
    expect(errors).toEqual([])
    await close()
  })

  it("shows a read-only token no button that changes something", async () => {
    await consumersOf("read").create({ name: "ivan" }, { withApiKey: true })
    const { page, errors, close } = await open("/accounts/acme/consumers/read", { token: readToken })
    await page.getByRole("link", { name: "ivan", exact: true }).waitFor()
    expect(await button(page, "Create consumer").count()).toBe(0)
    await page.getByRole("link", { name: "ivan", exact: true }).click()
    await table(page, "Keys of this consumer").waitFor()
    await page.getByRole("heading", { name: "No subscriptions" }).waitFor()
    await expectAccessible(page)
    expect(await page.locator("main button").allTextContents()).toEqual(["Refresh"])
    expect(errors).toEqual([])
    await close()
  })

  it("fits a screen of 375 px", async () => {
    const long = "x".repeat(300)
    await consumersOf("narrow").create(
      { name: "a".repeat(128), description: long, tags: { long: "y".repeat(256) }, metadata: { long } },
      { withApiKey: true }
    )
    const context = { viewport: { width: 375, height: 700 } }
    const { page, errors, close } = await open("/accounts/acme/consumers/narrow", { context })
    const getOverflow = () => page.evaluate("document.documentElement.scrollWidth - innerWidth")
    await page.getByRole("link", { name: "aaa" }).waitFor()
    expect(await getOverflow()).toBe(0)
    await button(page, "Create consumer").click()
    await button(page, "Add tag").click()
    expect(await getOverflow()).toBe(0)
    expect(await page.evaluate("(d => d.scrollWidth - d.clientWidth)(document.querySelector('dialog'))")).toBe(0)
    await button(page, "Cancel").click()
    await page.getByRole("link", { name: "aaa" }).click()
    await table(page, "Keys of this consumer").waitFor()
    expect(await getOverflow()).toBe(0)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })
})
