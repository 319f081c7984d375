import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { tollgate } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"
import { ensureChromium } from "@tollgate/testing"
import express from "express"
import helmet from "helmet"
import { type Browser, chromium, type Locator, type Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const token = "a-management-token-for-tests"
const mount = "/api/dev"
const options = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

let browser: Browser
const gates: Array<Tollgate> = []
const servers: Array<Server> = []
/** The statuses that the servers have answered, by path. */
const answered: Array<string> = []

/** An Express server with helmet() in front of a gate; its origin. */
const serve = async (docs?: TollgateOptions["docs"]): Promise<string> => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "a secret of the tests, and of nobody else",
    tokens: [{ token, account: "acme" }],
    ...(docs === undefined ? {} : { docs })
  })
  gates.push(gate)
  await gate.consumers.create("acme", "production", { name: "alice" })
  const app = express()
  app.use((req, res, next) => {
    res.once("finish", () => answered.push(`${res.statusCode} ${req.originalUrl}`))
    next()
  })
  app.use(helmet())
  app.use(mount, tollgate(gate))
  const server = createServer(app).listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}

interface Visit {
  readonly page: Page
  /** Errors and warnings of the console, which has a failed request too, and exceptions that nothing caught. */
  readonly complaints: ReadonlyArray<string>
  readonly requested: ReadonlyArray<{ readonly url: string; readonly authorization: string | undefined }>
}

const visit = async (url: string, width = 1_000): Promise<Visit> => {
  const page = await browser.newPage({ viewport: { width, height: 800 } })
  const complaints: Array<string> = []
  const requested: Array<{ url: string; authorization: string | undefined }> = []
  page.on("pageerror", (error) => complaints.push(String(error)))
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text())
  })
  page.on("request", (request) =>
    requested.push({ url: request.url(), authorization: request.headers()["authorization"] })
  )
  await page.goto(url)
  return { page, complaints, requested }
}

/** What the browser says of a 401 by itself. */
const refused = expect.stringContaining("responded with a status of 401")

const openOperation = async (page: Page, id: string): Promise<Locator> => {
  const operation = page.locator(`details[id="${id}"]`)
  await operation.locator("summary").first().click()
  return operation
}

const sendList = async (operation: Locator): Promise<void> => {
  await operation.getByLabel("accountName").fill("acme")
  await operation.getByLabel("bucketName").fill("production")
  await operation.getByRole("button", { name: "Send request" }).click()
}

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: ensureChromium(), args: options })
}, 60_000)
afterAll(async () => {
  await browser?.close()
  for (const server of servers) server.close()
  for (const server of servers) server.closeAllConnections()
  for (const gate of gates) await gate.close()
})

describe("the documentation page in a browser, behind helmet() and below a prefix", { timeout: 60_000 }, () => {
  let origin: string
  beforeAll(async () => {
    origin = await serve()
  })

  it.each(["/v1/docs", "/v1/docs/"])(
    "lists the operations at %s, and requests nothing from other hosts",
    async (path) => {
      const { page, complaints, requested } = await visit(`${origin}${mount}${path}`)
      await page.getByText("38 of 38 operations").waitFor()
      expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toContain("Metering buckets")
      expect(requested.map(({ url }) => url)).toEqual([`${origin}${mount}${path}`, `${origin}${mount}/v1/openapi.json`])
      // From the browser's copy, whose headers a 304 updates.
      await page.reload()
      await page.getByText("38 of 38 operations").waitFor()
      expect(answered).toContain(`304 ${mount}${path}`)
      expect(complaints).toEqual([])
      await page.close()
    }
  )

  it("is served beside a description whose server is the prefix", async () => {
    const description = await (await fetch(`${origin}${mount}/v1/openapi.json`)).json()
    expect(description).toMatchObject({ servers: [{ url: mount }] })
  })

  it("tries an operation with the token as a bearer token, and shows the response", async () => {
    const { page, complaints, requested } = await visit(`${origin}${mount}/v1/docs`)
    const operation = await openOperation(page, "consumers.list")
    await page.getByLabel("Management token").fill(token)
    await operation.getByLabel("limit").fill("5")
    await sendList(operation)
    await operation.getByText(/^200 OK in \d+ ms$/).waitFor()
    expect(await operation.locator(".response .body").textContent()).toContain('"name": "alice"')
    expect(requested.at(-1)).toEqual({
      url: `${origin}${mount}/v1/accounts/acme/key-buckets/production/consumers?limit=5`,
      authorization: `Bearer ${token}`
    })
    const curl = await operation.locator(".curl").textContent()
    expect(curl).toContain(`curl '${origin}${mount}/v1/accounts/acme/key-buckets/production/consumers?limit=5'`)
    expect(curl).toContain('-H "Authorization: Bearer $TOLLGATE_TOKEN"')
    expect(complaints).toEqual([])
    await page.close()
  })

  it("shows the 401 problem without a token", async () => {
    const { page, complaints, requested } = await visit(`${origin}${mount}/v1/docs#consumers.list`)
    const operation = page.locator('details[id="consumers.list"][open]')
    await sendList(operation)
    await operation.getByText(/^401 Unauthorized in \d+ ms$/).waitFor()
    expect(await operation.locator(".response .body").textContent()).toContain("urn:tollgate:problem:unauthorized")
    expect(await operation.locator(".response dl").textContent()).toContain("www-authenticateBearer")
    expect(requested.at(-1)?.authorization).toBeUndefined()
    expect(complaints).toEqual([refused])
    await page.close()
  })

  it("sends a JSON body that starts from an example of the required fields", async () => {
    const { page } = await visit(`${origin}${mount}/v1/docs`)
    await page.getByLabel("Management token").fill(token)
    const operation = await openOperation(page, "consumers.create")
    const body = operation.getByLabel("Body")
    expect(JSON.parse(await body.inputValue())).toEqual({ name: "name" })
    await body.fill('{ "name": "bob", "description": "<img src=x onerror=alert(1)>" }')
    await sendList(operation)
    await operation.getByText(/^200 OK in/).waitFor()
    expect(await operation.locator(".response .body").textContent()).toContain("<img src=x")
    expect(await page.locator("img").count()).toBe(0)
    await page.close()
  })

  it("filters the operations, and fits a narrow screen when one is open", async () => {
    const { page } = await visit(`${origin}${mount}/v1/docs`, 375)
    await page.getByLabel("Filter operations").fill("key delete")
    await page.getByText("2 of 38 operations").waitFor()
    expect(await page.locator("details.operation:visible").count()).toBe(2)
    expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(["Consumers", "Keys"])
    await page.getByLabel("Filter operations").fill("")
    await openOperation(page, "subscriptions.create")
    const width = await page.evaluate("document.documentElement.scrollWidth")
    expect(width).toBe(375)
    await page.close()
  })

  it("asks for the token where the description is protected", async () => {
    const closed = await serve("protected")
    const { page, complaints, requested } = await visit(`${closed}${mount}/v1/docs`)
    await page.getByText("The description of this API is protected").waitFor()
    await page.getByLabel("Management token").fill(token)
    await page.getByLabel("Management token").press("Enter")
    await page.getByText("38 of 38 operations").waitFor()
    expect(requested.map(({ authorization }) => authorization)).toEqual([undefined, undefined, `Bearer ${token}`])
    expect(complaints).toEqual([refused])
    await page.close()
  })
})
