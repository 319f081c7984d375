import { createHash } from "node:crypto"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectFailedRequests } from "../../ui/test/expectErrors.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const bucketOf = (from: ConsoleServer = server) => from.gate.account("acme").keyBucket("production")
const listKeys = async (name: string, from?: ConsoleServer) => (await bucketOf(from).keys.list(name)).data

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
const dialog = (page: Page, name: string) => page.getByRole("dialog", { name, exact: true })
const openTools = (page: Page) => page.getByText("Developer tools").click()
const keysTable = (page: Page) => page.getByRole("table", { name: "Keys of this consumer" })

/** Creates a consumer with a key, and opens its page. */
const openConsumer = async (
  name: string,
  options: Parameters<typeof openConsole>[2] & { readonly of?: ConsoleServer } = {}
) => {
  const { of = server, ...rest } = options
  const { apiKeys } = await bucketOf(of).consumers.create({ name }, { withApiKey: true })
  const opened = await openConsole(browser, of.origin, { path: `/accounts/acme/consumers/production/${name}`, ...rest })
  await keysTable(opened.page).waitFor()
  const { id, key = "" } = apiKeys[0]
  return { ...opened, id, key, masked: `****${key.slice(-4)}` }
}

/** The values in the dialog that shows secrets, which is then closed. */
const takeSecrets = async (page: Page, title: string): Promise<ReadonlyArray<string>> => {
  const secrets = dialog(page, title)
  await secrets.waitFor()
  const values = await secrets.locator("code").allTextContents()
  await secrets.getByRole("button", { name: "Done", exact: true }).click()
  await secrets.waitFor({ state: "detached" })
  return values
}

const verify = async (key: string): Promise<boolean> => (await bucketOf().verify(key)).valid

describe("creating keys in the console", () => {
  it("creates a key with a description, an expiry and scopes, and copies its value", async () => {
    const context = { permissions: ["clipboard-read", "clipboard-write"] }
    const { page, errors, close, masked } = await openConsumer("create-one", { context })
    await keysTable(page).getByText(masked).waitFor()
    await expectAccessible(page)
    await button(page, "Create key").click()
    const form = dialog(page, "Create a key")
    await expectAccessible(page)
    await form.getByLabel("Description").fill("For the app")
    await form.getByLabel("Expires").fill("2099-05-06T07:08")
    await form.getByLabel("Scopes").fill("orders:read, users:*")
    await form.getByRole("button", { name: "Create key" }).click()
    const secrets = dialog(page, "1 new key")
    const value = (await secrets.locator("code").textContent()) ?? ""
    await expectAccessible(page)
    await button(page, "Copy For the app").click()
    await secrets.getByRole("status").getByText("Copied").waitFor()
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(value)
    await secrets.getByRole("button", { name: "Done", exact: true }).click()
    await keysTable(page).getByText("For the app").waitFor()
    await keysTable(page).getByText("users:*").waitFor()
    const [, created] = await listKeys("create-one")
    const expiresOn = (await page.evaluate("new Date('2099-05-06T07:08').toISOString()")) as string
    expect(created).toMatchObject({ description: "For the app", expiresOn, scopes: ["orders:read", "users:*"] })
    expect(await verify(value)).toBe(true)
    expect(await page.content()).not.toContain(value)
    expect(errors).toEqual([])
    await close()
  })

  it("takes a value of one's own, and keeps the input when another key has it", async () => {
    const { page, errors, close, key } = await openConsumer("own-value")
    await button(page, "Create key").click()
    const form = dialog(page, "Create a key")
    const submit = form.getByRole("button", { name: "Create key" })
    await form.getByLabel("Scopes").fill("or*ders")
    await form.getByLabel("Your own value").fill("short")
    await submit.click()
    await form.getByText("“or*ders”: use letters").waitFor()
    await form.getByText("Use 16 to 256 visible characters without spaces.").waitFor()
    await form.getByLabel("Scopes").fill("")
    await form.getByLabel("Description").fill("Mine")
    await form.getByLabel("Your own value").fill(key)
    await submit.click()
    await form.getByText("Request id:").waitFor()
    expect(await form.getByLabel("Description").inputValue()).toBe("Mine")
    expectFailedRequests(errors, [409])
    await form.getByLabel("Your own value").fill("a-value-of-my-own-0001")
    await form.getByLabel("Disabled until I enable it").check()
    await submit.click()
    expect(await takeSecrets(page, "1 new key")).toEqual(["a-value-of-my-own-0001"])
    expect((await listKeys("own-value"))[1]).toMatchObject({ description: "Mine", disabled: true })
    await close()
  })

  it("creates many keys with the same description", async () => {
    const { page, errors, close } = await openConsumer("create-many")
    await openTools(page)
    await button(page, "Create many").click()
    const form = dialog(page, "Create many keys")
    await form.getByLabel("How many").fill("12")
    await form.getByLabel("Description").fill("Batch")
    await expectAccessible(page)
    await form.getByRole("button", { name: "Create keys" }).click()
    await dialog(page, "12 new keys").waitFor()
    await button(page, "Copy all").waitFor()
    await expectAccessible(page)
    const values = await takeSecrets(page, "12 new keys")
    expect(new Set(values).size).toBe(12)
    expect(await Promise.all(values.map(verify))).toEqual(values.map(() => true))
    expect((await listKeys("create-many")).filter(({ description }) => description === "Batch")).toHaveLength(12)
    await expect.poll(() => keysTable(page).getByRole("row").count()).toBe(14)
    expect(errors).toEqual([])
    await close()
  })

  it("pages through the keys, with the page in the address", async () => {
    await bucketOf().consumers.create({ name: "many-keys" })
    await bucketOf().keys.createMany(
      "many-keys",
      Array.from({ length: 61 }, (_, index) => ({ description: `Number ${index}` }))
    )
    const path = "/accounts/acme/consumers/production/many-keys"
    const { page, errors, close } = await openConsole(browser, server.origin, { path })
    await page.getByText("1–50 of 61").waitFor()
    await button(page, "Next").click()
    await keysTable(page).getByText("Number 60").waitFor()
    expect(await keysTable(page).getByRole("row").count()).toBe(12)
    expect(page.url()).toContain("keys=50")
    await page.goBack()
    await keysTable(page).getByText("Number 49").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("imports keys of another system by their hashes", async () => {
    const { page, errors, close } = await openConsumer("import")
    const former = ["a-key-of-the-old-system-1", "a-key-of-the-old-system-2"]
    const hashes = former.map((value) => createHash("sha256").update(value).digest("hex"))
    await openTools(page)
    await button(page, "Import").click()
    const form = dialog(page, "Import keys")
    const submit = form.getByRole("button", { name: "Import keys" })
    await form.getByLabel("SHA-256 hashes").fill(`${hashes[0]}\nnot-a-hash`)
    await submit.click()
    await form.getByText("Line 2: “not-a-hash” is not a SHA-256 of 64 hexadecimal digits.").waitFor()
    await expectAccessible(page)
    await form.getByLabel("SHA-256 hashes").fill(`${hashes[0]?.toUpperCase()} em-1 The first\n\n${hashes[1]}`)
    await form.getByLabel("Description").fill("Imported")
    await form.getByLabel("Scopes").fill("orders:read")
    await submit.click()
    await form.waitFor({ state: "detached" })
    await keysTable(page).getByText("****em-1").waitFor()
    expect((await listKeys("import")).slice(1)).toMatchObject([
      { key: "****em-1", description: "The first", scopes: ["orders:read"] },
      { description: "Imported", scopes: ["orders:read"] }
    ])
    expect(await Promise.all(former.map(verify))).toEqual([true, true])
    await button(page, "Show value of key ****em-1").click()
    await page.getByText("Request id:").waitFor()
    await expectAccessible(page)
    expectFailedRequests(errors, [409])
    await close()
  })
})

describe("rolling keys in the console", () => {
  const hourMs = 3_600_000
  const getLifetime = async (name: string): Promise<number> =>
    Date.parse((await listKeys(name))[0]?.expiresOn ?? "") - Date.now()

  it("lets the former keys live for a grace period, and shows the new key", async () => {
    const { page, errors, close, key } = await openConsumer("roll-day")
    await button(page, "Roll all keys").click()
    const form = dialog(page, "Roll all keys of roll-day")
    await expectAccessible(page)
    await form.getByLabel("Grace period of the former keys").selectOption({ label: "7 days" })
    await form.getByLabel("Scopes of the new key").fill("orders:read")
    await form.getByRole("button", { name: "Roll all keys" }).click()
    const [value = ""] = await takeSecrets(page, "1 new key")
    expect(await Promise.all([verify(key), verify(value)])).toEqual([true, true])
    expect(Math.abs((await getLifetime("roll-day")) - 7 * 24 * hourMs)).toBeLessThan(hourMs)
    expect((await listKeys("roll-day"))[1]?.scopes).toEqual(["orders:read"])
    await keysTable(page).getByText("in 6 days").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("stops the former keys at once", async () => {
    const { page, errors, close, key } = await openConsumer("roll-now")
    await button(page, "Roll all keys").click()
    const form = dialog(page, "Roll all keys of roll-now")
    await form.getByLabel("Grace period of the former keys").selectOption({ label: "Stop at once" })
    await form.getByRole("button", { name: "Roll all keys" }).click()
    const [value = ""] = await takeSecrets(page, "1 new key")
    expect(await Promise.all([verify(key), verify(value)])).toEqual([false, true])
    await keysTable(page).getByText("expired").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("stops the former keys on a date", async () => {
    const { page, errors, close } = await openConsumer("roll-date")
    await button(page, "Roll all keys").click()
    const form = dialog(page, "Roll all keys of roll-date")
    await form.getByLabel("Grace period of the former keys").selectOption({ label: "Until a date" })
    await form.getByLabel("Former keys stop on").fill("2098-01-02T03:04")
    await expectAccessible(page)
    await form.getByRole("button", { name: "Roll all keys" }).click()
    await takeSecrets(page, "1 new key")
    const expiresOn = (await page.evaluate("new Date('2098-01-02T03:04').toISOString()")) as string
    expect((await listKeys("roll-date"))[0]?.expiresOn).toBe(expiresOn)
    expect(errors).toEqual([])
    await close()
  })

  it("rolls one key: the others stay, and the new one may do the same", async () => {
    const { page, errors, close, id, key, masked } = await openConsumer("roll-one")
    await bucketOf().keys.update("roll-one", id, { description: "The app", scopes: ["orders:read"] })
    const other = await bucketOf().keys.create("roll-one", { description: "Other", disabled: true })
    await page.reload()
    await keysTable(page).getByText("Other").waitFor()
    expect(await button(page, `Roll key ****${other.key?.slice(-4)}`).count()).toBe(0)
    await button(page, `Roll key ${masked}`).click()
    const form = dialog(page, `Roll key ${masked}`)
    await expectAccessible(page)
    await form.getByLabel("Grace period of the former key").selectOption({ label: "1 hour" })
    await form.getByRole("button", { name: "Roll key" }).click()
    const [value = ""] = await takeSecrets(page, "1 new key")
    expect(await page.content()).not.toContain(value)
    expect(await Promise.all([verify(key), verify(value)])).toEqual([true, true])
    expect(Math.abs((await getLifetime("roll-one")) - hourMs)).toBeLessThan(hourMs / 10)
    const [, kept, made] = await listKeys("roll-one")
    expect(kept).not.toHaveProperty("expiresOn")
    expect(made).toMatchObject({ description: "The app", scopes: ["orders:read"] })
    await keysTable(page).getByText("in 59 minutes").waitFor()
    await button(page, `Roll key ****${value.slice(-4)}`).click()
    const again = dialog(page, `Roll key ****${value.slice(-4)}`)
    await again.getByLabel("Grace period of the former key").selectOption({ label: "Stop at once" })
    await again.getByRole("button", { name: "Roll key" }).click()
    await takeSecrets(page, "1 new key")
    expect(await verify(value)).toBe(false)
    expect(errors).toEqual([])
    await close()
  })

  it("lets support staff roll and disable keys, and nothing else", async () => {
    await bucketOf().consumers.create({ name: "supported" }, { withApiKey: true })
    const { url } = await server.gate.createConsoleLink({ account: "acme", name: "Sue", permissions: ["support"] })
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.goto(`${server.origin}${url.slice(url.indexOf("/console/"))}`)
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
    await page.evaluate("location.hash = '#/accounts/acme/consumers/production/supported'")
    const row = keysTable(page).getByRole("row").nth(1)
    await row.waitFor()
    expect(await row.getByRole("button").allTextContents()).toEqual(["Disable", "Roll"])
    expect(await button(page, "Create key").count()).toBe(0)
    await row.getByRole("button", { name: "Roll" }).click()
    expect(await page.getByLabel("Scopes of the new key").count()).toBe(0)
    await page.getByRole("dialog").getByRole("button", { name: "Roll key" }).click()
    const [value = ""] = await takeSecrets(page, "1 new key")
    expect(await verify(value)).toBe(true)
    await row.getByRole("button", { name: "Disable" }).click()
    await row.getByText("disabled").waitFor()
    expect((await listKeys("supported")).map(({ disabled = false }) => disabled)).toEqual([true, false])
    expect(errors).toEqual([])
    await close()
  })

  it("rolls once when the response of the first attempt is lost", async () => {
    const { page, close } = await openConsumer("roll-lost")
    await button(page, "Roll all keys").click()
    const form = dialog(page, "Roll all keys of roll-lost")
    await page.route(
      "**/roll-key?*",
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 }
    )
    await form.getByRole("button", { name: "Roll all keys" }).click()
    await form.getByText("The server cannot be reached").waitFor()
    await form.getByRole("button", { name: "Roll all keys" }).click()
    await takeSecrets(page, "1 new key")
    expect(await listKeys("roll-lost")).toHaveLength(2)
    await close()
  })

  it("shows the new key where values are not kept, and says that others cannot be shown", async () => {
    const hashOnly = await startConsoleServer({ keyStorage: "hash-only" })
    const { page, errors, close, masked } = await openConsumer("roll-hashed", { of: hashOnly })
    await button(page, "Roll all keys").click()
    await dialog(page, "Roll all keys of roll-hashed").getByRole("button", { name: "Roll all keys" }).click()
    const [value = ""] = await takeSecrets(page, "1 new key")
    expect(await bucketOf(hashOnly).verify(value)).toMatchObject({ valid: true })
    expect(errors).toEqual([])
    await button(page, `Show value of key ${masked}`).click()
    await page.getByRole("alert").getByText("Request id:").waitFor()
    expectFailedRequests(errors, [409])
    await close()
    await hashOnly.close()
  })
})

describe("changing keys in the console", () => {
  it("shows the value of a key again", async () => {
    const { page, errors, close, key, masked } = await openConsumer("show")
    await button(page, `Show value of key ${masked}`).click()
    await dialog(page, "Key value").waitFor()
    await expectAccessible(page)
    expect(await takeSecrets(page, "Key value")).toEqual([key])
    expect(errors).toEqual([])
    await close()
  })

  it("disables and enables a key at once", async () => {
    const { page, errors, close, key, masked } = await openConsumer("toggle")
    await button(page, `Disable key ${masked}`).click()
    await keysTable(page).getByText("disabled").waitFor()
    await expect.poll(() => verify(key)).toBe(false)
    await button(page, `Enable key ${masked}`).click()
    await keysTable(page).getByText("active").waitFor()
    await expect.poll(() => verify(key)).toBe(true)
    await page.getByText(`Enabled ${masked}`).waitFor()
    // The latest message takes its own change back.
    await page.getByRole("button", { name: "Undo", exact: true }).last().click()
    await keysTable(page).getByText("disabled").waitFor()
    await expect.poll(() => verify(key)).toBe(false)
    expect(errors).toEqual([])
    await close()
  })

  it("takes a toggle back when it fails, and says why", async () => {
    const { page, errors, close, key, masked } = await openConsumer("toggle-fails")
    const reply = Promise.withResolvers<void>()
    await page.route("**/keys/key_*", async (route) => {
      await reply.promise
      await route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        body: JSON.stringify({ title: "The store is away", detail: "Try again later." })
      })
    })
    await button(page, `Disable key ${masked}`).click()
    await keysTable(page).getByText("disabled").waitFor()
    reply.resolve()
    await keysTable(page).getByText("active").waitFor()
    await page.getByText("The store is away").waitFor()
    await button(page, `Disable key ${masked}`).waitFor()
    expect(await verify(key)).toBe(true)
    expectFailedRequests(errors, [503])
    await close()
  })

  it("edits a key, keeps an expiry that was not touched to the millisecond, and clears fields", async () => {
    const { page, errors, close, id, masked } = await openConsumer("edit")
    const expiresOn = "2097-03-04T05:06:07.089Z"
    await bucketOf().keys.update("edit", id, { expiresOn, scopes: ["a"] })
    await button(page, `Edit key ${masked}`).click()
    const form = dialog(page, `Edit key ${masked}`)
    await form.getByLabel("Description").fill("Renamed")
    await expectAccessible(page)
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.waitFor({ state: "detached" })
    await keysTable(page).getByText("Renamed").waitFor()
    expect((await listKeys("edit"))[0]).toMatchObject({ description: "Renamed", expiresOn, scopes: ["a"] })
    await button(page, `Edit key ${masked}`).click()
    for (const field of ["Description", "Expires", "Scopes"]) await form.getByLabel(field).fill("")
    await form.getByLabel("New value").fill("a-new-value-of-this-key")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.waitFor({ state: "detached" })
    const [{ description, expiresOn: expiry, scopes } = {}] = await listKeys("edit")
    expect({ description, expiry, scopes }).toEqual({ description: undefined, expiry: undefined, scopes: undefined })
    expect(await verify("a-new-value-of-this-key")).toBe(true)
    expect(errors).toEqual([])
    await close()
  })

  it("shows both when another tab has changed the key", async () => {
    const { page, errors, close, id, masked } = await openConsumer("edit-conflict")
    await button(page, `Edit key ${masked}`).click()
    const form = dialog(page, `Edit key ${masked}`)
    await form.getByLabel("Description").fill("mine")
    await bucketOf().keys.update("edit-conflict", id, { description: "theirs", scopes: ["added"] })
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.getByRole("cell", { name: "theirs" }).waitFor()
    await form.getByRole("cell", { name: "added" }).waitFor()
    await expectAccessible(page)
    await button(page, "Take the server’s").click()
    await expect.poll(() => form.getByLabel("Scopes").inputValue()).toBe("added")
    await form.getByLabel("Description").fill("mine")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.waitFor({ state: "detached" })
    expect((await listKeys("edit-conflict"))[0]).toMatchObject({ description: "mine", scopes: ["added"] })
    expectFailedRequests(errors, [412])
    await close()
  })

  it("revokes a key after a confirmation", async () => {
    const { page, errors, close, key, masked } = await openConsumer("revoke")
    await button(page, `Revoke key ${masked}`).click()
    const confirm = dialog(page, `Revoke ${masked}`)
    await expectAccessible(page)
    await confirm.getByRole("button", { name: "Cancel", exact: true }).click()
    expect(await verify(key)).toBe(true)
    await button(page, `Revoke key ${masked}`).click()
    await confirm.getByRole("button", { name: "Revoke key" }).click()
    await page.getByRole("heading", { name: "No keys" }).waitFor()
    expect(await verify(key)).toBe(false)
    expect(errors).toEqual([])
    await close()
  })

  it("shows a read-only token the keys, and nothing to change them with", async () => {
    const { page, errors, close, masked } = await openConsumer("read-only", { token: readToken })
    const row = keysTable(page).getByRole("row").filter({ hasText: masked })
    await row.waitFor()
    expect(await row.getByRole("button").count()).toBe(0)
    expect(await page.getByRole("columnheader").allTextContents()).not.toContain("Actions")
    expect(await row.getByText("never").count()).toBe(2)
    expect(errors).toEqual([])
    await close()
  })

  it("fits a screen of 375 px with every dialog", async () => {
    const context = { viewport: { width: 375, height: 700 } }
    const { page, errors, close } = await openConsumer("narrow", { context })
    const getOverflow = () => page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(await getOverflow()).toBe(0)
    await openTools(page)
    for (const name of ["Create key", "Create many", "Import", "Roll all keys"]) {
      await button(page, name).click()
      await page.getByRole("dialog").waitFor()
      expect(await getOverflow()).toBe(0)
      expect(await page.evaluate("(d => d.scrollWidth - d.clientWidth)(document.querySelector('dialog'))")).toBe(0)
      await button(page, "Cancel").click()
    }
    expect(errors).toEqual([])
    await close()
  })
})
