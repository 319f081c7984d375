/**
 * Webhooks in the console, with a real endpoint that receives what they send.
 */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser, Page } from "playwright-core"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closePages, expectAccessible, launchBrowser, openConsole, passTimeUntil } from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

interface Received {
  readonly headers: Record<string, string>
  readonly body: string
}

let browser: Browser
let server: ConsoleServer
let receiver: Server
let endpoint: string
/** The requests, by the path that they were sent to. */
const received = new Map<string, Array<Received>>()
/** The status to respond with, by path: 204 unless it is set. */
const statuses = new Map<string, number>()

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  receiver = createServer(async (request, response) => {
    const path = request.url ?? ""
    let body = ""
    for await (const chunk of request.setEncoding("utf8")) body += chunk
    received.set(path, [...(received.get(path) ?? []), { headers: request.headers as Record<string, string>, body }])
    response.writeHead(statuses.get(path) ?? 204).end()
  }).listen(0, "127.0.0.1")
  await once(receiver, "listening")
  endpoint = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
  receiver?.close()
})

const getReceived = (path: string): ReadonlyArray<Received> => received.get(path) ?? []

const deliveries = (page: Page) => page.getByRole("table", { name: "Deliveries of this webhook" }).locator("tbody tr")

const openWebhook = async (account: string, input: { readonly path: string; readonly description?: string }) => {
  const { path, ...fields } = input
  const webhook = await server.gate
    .account(account)
    .webhooks.create({ url: `${endpoint}${path}`, events: ["consumer.*"], ...fields })
  const opened = await openConsole(browser, server.origin, {
    path: `/accounts/${account}/webhooks/${webhook.id}`,
    hasFakeTimers: true
  })
  await opened.page.getByText(webhook.url).first().waitFor()
  return { webhook, ...opened }
}

describe("webhooks in the console", () => {
  it("creates a webhook, shows its secret once, and keeps the input when the URL is refused", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { path: "/accounts/made/webhooks" })
    await page.getByText("There is no webhook yet").waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "New webhook" }).click()
    await expectAccessible(page)
    const description = "<img src=x onerror=alert(1)>"
    await page.getByLabel("URL").fill("ftp://example.com/")
    await page.getByLabel("Description").fill(description)
    await page.getByLabel("All events").uncheck()
    await page.getByLabel("consumer.*").check()
    await page.getByLabel("webhook.disabled").check()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.locator(".field-error").getByText("Webhooks cannot be sent to this URL").waitFor()
    expect(await page.getByLabel("URL").inputValue()).toBe("ftp://example.com/")
    expect(await page.getByLabel("Description").inputValue()).toBe(description)
    expect(await page.getByLabel("consumer.*").isChecked()).toBe(true)
    await page.getByLabel("URL").fill(`${endpoint}/made`)
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.getByText("it is never shown again").waitFor()
    const secret = (await page.locator(".secret").textContent()) ?? ""
    expect(secret).toMatch(/^whsec_/)
    await expectAccessible(page)
    await page.getByRole("button", { name: "Done", exact: true }).click()
    const row = page
      .getByRole("table", { name: "Webhooks" })
      .getByRole("row")
      .filter({ hasText: `${endpoint}/made` })
    await row.getByText("consumer.*, webhook.disabled").waitFor()
    await row.getByText(description).waitFor()
    expect(await page.locator("img").count()).toBe(0)
    expect(await page.getByText(secret).count()).toBe(0)
    const [webhook] = (await server.gate.account("made").webhooks.list()).data
    expect(webhook).toMatchObject({ description, events: ["consumer.*", "webhook.disabled"], state: "enabled" })
    await server.gate.account("made").keyBucket("production").consumers.create({ name: "alice" })
    await expect.poll(() => getReceived("/made").length).toBe(1)
    const [request] = getReceived("/made")
    expect(new Webhook(secret).verify(request?.body ?? "", request?.headers ?? {})).toMatchObject({
      type: "consumer.created"
    })
    await row.getByRole("link", { name: `${endpoint}/made` }).click()
    await page.getByRole("heading", { name: "Webhook", exact: true }).waitFor()
    await page.goBack()
    await page.getByRole("heading", { name: "Webhooks" }).waitFor()
    expect(errors).toEqual([expect.stringContaining("422")])
    await close()
  })

  it("sends a test, and shows its delivery as soon as it has arrived", async () => {
    const { page, errors, close } = await openWebhook("tested", { path: "/tested" })
    await page.getByText("Nothing has been sent yet").waitFor()
    await page.getByRole("button", { name: "Send a test" }).click()
    await page.getByText("A test event is being sent").waitFor()
    await passTimeUntil(page, deliveries(page).getByText("succeeded"))
    await deliveries(page).getByText("webhook.test").waitFor()
    expect(getReceived("/tested").length).toBe(1)
    await deliveries(page)
      .getByText(/1 attempt, the last: status 204 after [\d,]+ ms/)
      .click()
    await deliveries(page).getByRole("listitem").waitFor()
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("shows failed attempts with the next one, and retries at once", async () => {
    statuses.set("/failing", 500)
    const { webhook, page, errors, close } = await openWebhook("failing", { path: "/failing" })
    await server.gate.account("failing").keyBucket("production").consumers.create({ name: "alice" })
    await expect.poll(() => getReceived("/failing").length).toBe(1)
    await page.getByRole("button", { name: "Refresh the deliveries" }).click()
    // The first retry comes after 5 seconds; the page shows it without a reload.
    await passTimeUntil(page, deliveries(page).getByText(/2 attempts, the last: status 500/))
    await deliveries(page).getByText("pending").waitFor()
    await deliveries(page)
      .getByText(/^in \d+ minutes$/)
      .waitFor()
    statuses.set("/failing", 204)
    await page.getByRole("button", { name: /^Retry consumer.created/ }).click()
    await passTimeUntil(page, deliveries(page).getByText("succeeded"))
    await expect
      .poll(async () => (await server.gate.account("failing").webhooks.deliveries(webhook.id)).data[0]?.attempts.length)
      .toBe(3)
    expect(errors).toEqual([])
    await close()
  })

  it("pages through the deliveries, newest first", async () => {
    const { webhook, page, errors, close } = await openWebhook("many", { path: "/many" })
    const { webhooks } = server.gate.account("many")
    for (let index = 0; index < 25; index++) await webhooks.test(webhook.id)
    await expect.poll(() => getReceived("/many").length).toBe(25)
    await page.getByRole("button", { name: "Refresh the deliveries" }).click()
    await page.getByText("1–20 of 25").waitFor()
    expect(await deliveries(page).count()).toBe(20)
    const newest = (await webhooks.deliveries(webhook.id, { limit: 1 })).data[0]?.eventId ?? ""
    await deliveries(page).first().getByText(newest).waitFor()
    await page.getByRole("button", { name: "Next", exact: true }).click()
    await page.getByText("21–25 of 25").waitFor()
    expect(page.url()).toContain("offset=20")
    await page.goBack()
    await page.getByText("1–20 of 25").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("shows both versions when the webhook was changed elsewhere", async () => {
    const { webhook, page, errors, close } = await openWebhook("edited", { path: "/edited", description: "first" })
    const { webhooks } = server.gate.account("edited")
    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await expectAccessible(page)
    await page.getByLabel("Description").fill("mine")
    await webhooks.update(webhook.id, { description: "<b>theirs</b>" })
    await page.getByRole("button", { name: "Save", exact: true }).click()
    const conflict = page.getByRole("row", { name: "Description" })
    await conflict.getByText("mine").waitFor()
    await conflict.getByText("<b>theirs</b>").waitFor()
    expect(await page.locator("dialog b").count()).toBe(0)
    await expectAccessible(page)
    await page.getByRole("button", { name: "Take the server’s" }).click()
    expect(await page.getByLabel("Description").inputValue()).toBe("<b>theirs</b>")
    await page.getByLabel("Description").fill("mine again")
    await webhooks.update(webhook.id, { description: "theirs again" })
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("button", { name: "Save mine over it" }).click()
    await page.getByText("The webhook was saved").waitFor()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await page.getByText("mine again").waitFor()
    expect((await webhooks.get(webhook.id)).description).toBe("mine again")
    // An empty description is removed.
    await page.getByRole("button", { name: "Edit", exact: true }).click()
    await page.getByLabel("Description").fill("")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("mine again").waitFor({ state: "detached" })
    expect((await webhooks.get(webhook.id)).description).toBeUndefined()
    expect(errors.filter((error) => !error.includes("412"))).toEqual([])
    await close()
  })

  it("disables and enables at once, and takes it back if the server does not", async () => {
    const { webhook, page, errors, close } = await openWebhook("toggled", { path: "/toggled" })
    const { webhooks } = server.gate.account("toggled")
    await page.getByRole("button", { name: "Disable" }).click()
    await page.getByRole("button", { name: "Enable", exact: true }).waitFor()
    await expect.poll(async () => (await webhooks.get(webhook.id)).state).toBe("disabled")
    expect(await page.getByRole("button", { name: "Send a test" }).count()).toBe(0)
    // The response is held back, so that what is shown meanwhile can be seen.
    let fail: () => Promise<void> = async () => {}
    const isHeld = new Promise<void>((resolve) => {
      void page.route(`**/webhooks/${webhook.id}`, async (route) => {
        if (route.request().method() !== "PATCH") return route.continue()
        fail = () => route.fulfill({ status: 503, json: { code: "store-unavailable", title: "Store unavailable" } })
        resolve()
      })
    })
    await page.getByRole("button", { name: "Enable", exact: true }).click()
    await isHeld
    await page.getByRole("button", { name: "Disable" }).waitFor()
    await fail()
    await page.getByRole("alert").getByText("Store unavailable").waitFor()
    await page.getByRole("button", { name: "Enable", exact: true }).waitFor()
    expect((await webhooks.get(webhook.id)).state).toBe("disabled")
    await page.unrouteAll()
    await page.getByRole("button", { name: "Enable", exact: true }).click()
    await expect.poll(async () => (await webhooks.get(webhook.id)).state).toBe("enabled")
    expect(errors).toEqual([expect.stringContaining("503")])
    await close()
  })

  it("says why Tollgate disabled a webhook", async () => {
    statuses.set("/gone", 410)
    const { webhook, page, errors, close } = await openWebhook("gone", { path: "/gone" })
    const { webhooks } = server.gate.account("gone")
    await webhooks.test(webhook.id)
    await expect.poll(async () => (await webhooks.get(webhook.id)).state).toBe("disabled")
    await page.reload()
    const { disabledReason = "" } = await webhooks.get(webhook.id)
    await page.getByText(disabledReason).waitFor()
    await page.getByText("Nothing is sent while it is disabled").waitFor()
    expect(await page.getByRole("button", { name: /^Retry/ }).count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("rotates the secret after a confirmation; for 24 hours both sign", async () => {
    const { webhook, page, errors, close } = await openWebhook("rotated", { path: "/rotated" })
    await page.getByRole("button", { name: "Rotate secret" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("For 24 hours requests are signed with both").waitFor()
    await expectAccessible(page)
    await dialog.getByRole("button", { name: "Rotate secret" }).click()
    await page.getByText("For 24 hours requests are signed with the new and the former secret").waitFor()
    const secret = (await page.locator(".secret").textContent()) ?? ""
    expect(secret).not.toBe(webhook.secret)
    await expectAccessible(page)
    await page.getByRole("button", { name: "Done", exact: true }).click()
    expect(await page.getByText(secret).count()).toBe(0)
    await page.getByRole("button", { name: "Send a test" }).click()
    await expect.poll(() => getReceived("/rotated").length).toBe(1)
    const [request] = getReceived("/rotated")
    for (const key of [secret, webhook.secret]) {
      expect(new Webhook(key).verify(request?.body ?? "", request?.headers ?? {})).toMatchObject({
        type: "webhook.test"
      })
    }
    expect(errors).toEqual([])
    await close()
  })

  it("removes a webhook after a confirmation", async () => {
    const { page, errors, close } = await openWebhook("removed", { path: "/removed" })
    await page.getByRole("button", { name: "Remove", exact: true }).click()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Cancel", exact: true }).click()
    expect((await server.gate.account("removed").webhooks.list()).total).toBe(1)
    await page.getByRole("button", { name: "Remove", exact: true }).click()
    await page.getByRole("button", { name: "Remove webhook" }).click()
    await page.getByText("There is no webhook yet").waitFor()
    expect((await server.gate.account("removed").webhooks.list()).total).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("has no write buttons for a read-only token, and fits on a narrow screen", async () => {
    const { webhooks } = server.gate.account("readable")
    const { id } = await webhooks.create({
      url: `${endpoint}/readable?${"x".repeat(300)}`,
      description: "d".repeat(300)
    })
    await webhooks.test(id)
    const { page, errors, close } = await openConsole(browser, server.origin, {
      token: readToken,
      path: "/accounts/readable/webhooks",
      context: { viewport: { width: 375, height: 700 } }
    })
    await page.getByRole("table", { name: "Webhooks" }).waitFor()
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true)
    expect(await page.getByRole("button", { name: "New webhook" }).count()).toBe(0)
    await page.getByRole("table", { name: "Webhooks" }).getByRole("link").click()
    await deliveries(page).getByText("succeeded").waitFor()
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true)
    for (const label of ["Send a test", "Edit", "Disable", "Rotate secret", "Remove"]) {
      expect(await page.getByRole("button", { name: label }).count()).toBe(0)
    }
    expect(await page.getByRole("button", { name: /^Retry/ }).count()).toBe(0)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
  })

  it("says that a webhook does not exist", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, {
      path: "/accounts/nothing/webhooks/whk_missing"
    })
    await page.getByRole("alert").getByText("Webhook not found").first().waitFor()
    await page.getByText("Request id").first().waitFor()
    expect(errors.filter((error) => !error.includes("404"))).toEqual([])
    await close()
  })
})
