import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { adminConsole } from "@tollgate/console"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { declareAll } from "@tollgate/core/effect"
import { tollgate } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"
import { ensureChromium } from "@tollgate/testing"
import { tokensClient } from "@tollgate/tokens/client"
import { OpenApi } from "effect/http-api"
import express from "express"
import helmet from "helmet"
import { type Browser, chromium, type Locator, type Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectAccessible } from "./browser.ts"

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

const operationCount = Object.values(OpenApi.fromApi(declareAll([tokensClient]).api).paths).flatMap((path) =>
  Object.keys(path)
).length

let browser: Browser
const gates: Array<Tollgate> = []
const servers: Array<Server> = []
/** The status and URL of every response, in order. */
const responses: Array<string> = []

/** Starts an Express server with helmet() in front of Tollgate; returns its origin. */
const serve = async (docs?: TollgateOptions["docs"]): Promise<string> => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    tokens: [{ token, account: "acme" }],
    modules: [adminConsole()],
    ...(docs === undefined ? {} : { docs })
  })
  gates.push(gate)
  await gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
  const app = express()
  app.use((req, res, next) => {
    res.once("finish", () => responses.push(`${res.statusCode} ${req.originalUrl}`))
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

interface OpenPage {
  readonly page: Page
  /** Console errors and warnings, which include failed requests, and uncaught exceptions. */
  readonly errors: ReadonlyArray<string>
  readonly requests: ReadonlyArray<{ readonly url: string; readonly authorization: string | undefined }>
}

const openPage = async (url: string, width = 1_000): Promise<OpenPage> => {
  const page = await browser.newPage({ viewport: { width, height: 800 } })
  const errors: Array<string> = []
  const requests: Array<{ url: string; authorization: string | undefined }> = []
  page.on("pageerror", (error) => errors.push(String(error)))
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(message.text())
  })
  page.on("request", (request) =>
    requests.push({ url: request.url(), authorization: request.headers()["authorization"] })
  )
  await page.goto(url)
  return { page, errors, requests }
}

/** The browser logs this error for a 401 response. */
const consoleError401 = expect.stringContaining("responded with a status of 401")

const openOperation = async (page: Page, id: string): Promise<Locator> => {
  const operation = page.locator(`details[id="${id}"]`)
  await operation.locator("summary").first().click()
  return operation
}

const sendRequest = async (operation: Locator): Promise<void> => {
  await operation.getByLabel("accountName").fill("acme")
  await operation.getByLabel("bucketName").fill("production")
  await operation.getByRole("button", { name: "Send request" }).click()
}

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: ensureChromium(), args: options })
})
afterAll(async () => {
  await browser?.close()
  for (const server of servers) server.close()
  for (const server of servers) server.closeAllConnections()
  for (const gate of gates) await gate.close()
})

describe("the documentation page in a browser, behind helmet() and below a prefix", () => {
  let origin: string
  beforeAll(async () => {
    origin = await serve()
  })

  it.each(["/v1/docs", "/v1/docs/"])(
    "lists the operations at %s, and requests nothing from other hosts",
    async (path) => {
      const { page, errors, requests } = await openPage(`${origin}${mount}${path}`)
      await page.getByText(`${operationCount} of ${operationCount} operations`).waitFor()
      expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toContain("Metering buckets")
      expect(requests.map(({ url }) => url)).toEqual([`${origin}${mount}${path}`, `${origin}${mount}/v1/openapi.json`])
      // After a reload the browser uses its cached page, with the headers of the 304 response.
      await page.reload()
      await page.getByText(`${operationCount} of ${operationCount} operations`).waitFor()
      expect(responses).toContain(`304 ${mount}${path}`)
      expect(errors).toEqual([])
      await page.close()
    }
  )

  it("has an OpenAPI document whose server URL is the prefix", async () => {
    const description = await (await fetch(`${origin}${mount}/v1/openapi.json`)).json()
    expect(description).toMatchObject({ servers: [{ url: mount }] })
  })

  it("sends the token as a bearer token, and shows the response", async () => {
    const { page, errors, requests } = await openPage(`${origin}${mount}/v1/docs`)
    const operation = await openOperation(page, "consumers.list")
    await page.getByLabel("Management token").fill(token)
    await operation.getByLabel("limit").fill("5")
    await sendRequest(operation)
    await operation.getByText(/^200 OK in \d+ ms$/).waitFor()
    expect(await operation.locator(".response .body").textContent()).toContain('"name": "alice"')
    expect(requests.at(-1)).toEqual({
      url: `${origin}${mount}/v1/accounts/acme/key-buckets/production/consumers?limit=5`,
      authorization: `Bearer ${token}`
    })
    const curl = await operation.locator(".curl").textContent()
    expect(curl).toContain(`curl '${origin}${mount}/v1/accounts/acme/key-buckets/production/consumers?limit=5'`)
    expect(curl).toContain('-H "Authorization: Bearer $TOLLGATE_TOKEN"')
    expect(errors).toEqual([])
    await page.close()
  })

  it("shows the 401 problem without a token", async () => {
    const { page, errors, requests } = await openPage(`${origin}${mount}/v1/docs#consumers.list`)
    const operation = page.locator('details[id="consumers.list"][open]')
    await sendRequest(operation)
    await operation.getByText(/^401 Unauthorized in \d+ ms$/).waitFor()
    expect(await operation.locator(".response .body").textContent()).toContain("urn:tollgate:problem:unauthorized")
    expect(await operation.locator(".response dl").textContent()).toContain("www-authenticateBearer")
    expect(requests.at(-1)?.authorization).toBeUndefined()
    expect(errors).toEqual([consoleError401])
    await page.close()
  })

  it("sends a JSON body that starts from an example of the required fields", async () => {
    const { page } = await openPage(`${origin}${mount}/v1/docs`)
    await page.getByLabel("Management token").fill(token)
    const operation = await openOperation(page, "consumers.create")
    const body = operation.getByLabel("Body")
    expect(JSON.parse(await body.inputValue())).toEqual({ name: "name" })
    await body.fill('{ "name": "bob", "description": "<img src=x onerror=alert(1)>" }')
    await sendRequest(operation)
    await operation.getByText(/^200 OK in/).waitFor()
    expect(await operation.locator(".response .body").textContent()).toContain("<img src=x")
    expect(await page.locator("img").count()).toBe(0)
    await page.close()
  })

  it("remembers the account and the buckets, and writes the same call for curl and for TypeScript", async () => {
    const { page, errors } = await openPage(`${origin}${mount}/v1/docs`)
    const create = await openOperation(page, "consumers.create")
    await page.getByLabel("Account", { exact: true }).fill("acme")
    expect(await create.getByLabel("accountName").inputValue()).toBe("acme")
    await create.getByLabel("bucketName").fill("production")
    expect(await page.getByLabel("Key bucket", { exact: true }).inputValue()).toBe("production")
    await create.getByLabel("Body").fill('{ "name": "bob" }')
    const call = 'client\n  .account("acme")\n  .keyBucket("production")\n  .consumers.create({ name: "bob" })'
    expect(await create.locator(".typescript").textContent()).toContain(`const result = await ${call}`)
    expect(await create.locator(".curl").textContent()).toContain("/v1/accounts/acme/key-buckets/production/consumers'")
    await page.reload()
    const list = await openOperation(page, "consumers.list")
    expect(await list.getByLabel("bucketName").inputValue()).toBe("production")
    expect(await list.locator(".typescript").textContent()).toContain(
      'client\n  .account("acme")\n  .keyBucket("production")\n  .consumers.list()'
    )
    await page.getByLabel("Management token").fill(token)
    await list.getByRole("button", { name: "Send request" }).click()
    await list.getByText(/^200 OK in/).waitFor()
    const system = await openOperation(page, "system.alive")
    await system.getByRole("heading", { name: "curl" }).waitFor()
    expect(await system.getByRole("heading", { name: "TypeScript" }).count()).toBe(0)
    await expectAccessible(page)
    expect(errors).toEqual([])
    await page.close()
  })

  it("shows the description with its code, and an example of each body, on a narrow screen too", async () => {
    const { page, errors } = await openPage(`${origin}${mount}/v1/docs`, 375)
    const operation = await openOperation(page, "usage.reserve")
    const description = operation.locator(".inside > p").first()
    expect(await description.locator("code").allTextContents()).toEqual(["expiresIn", "consume"])
    expect(await description.textContent()).not.toContain("`")
    await operation.getByText("Example", { exact: true }).click()
    await operation.getByText("Example: application/json", { exact: true }).click()
    const examples = await operation.locator("details[open] > pre").allTextContents()
    expect(examples.map((example) => JSON.parse(example))).toMatchObject([
      { meters: { tokens: 4_000 }, expiresIn: 120 },
      { meters: { tokens: 4_000 }, quotas: { meters: { tokens: { used: 254_000 } } } }
    ])
    const series = await openOperation(page, "usage.series")
    await series.getByText("Example: text/csv", { exact: true }).click()
    expect(await series.locator("details[open] > pre").textContent()).toMatch(/^start,end,requests,tokens\r?\n2026-/)
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375)
    expect(errors).toEqual([])
    await page.close()
  })

  it("filters the operations, and fits a narrow screen when an operation is open", async () => {
    const { page } = await openPage(`${origin}${mount}/v1/docs`, 375)
    await page.getByLabel("Filter operations").fill("key delete")
    await page.getByText(`4 of ${operationCount} operations`).waitFor()
    expect(await page.locator("details.operation:visible").count()).toBe(4)
    expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual([
      "Consumers",
      "Keys",
      "Customers",
      "Alerts"
    ])
    await page.getByLabel("Filter operations").fill("")
    await openOperation(page, "subscriptions.create")
    const width = await page.evaluate("document.documentElement.scrollWidth")
    expect(width).toBe(375)
    await page.close()
  })

  it("prompts for the token when the OpenAPI document is protected", async () => {
    const protectedOrigin = await serve("protected")
    const { page, errors, requests } = await openPage(`${protectedOrigin}${mount}/v1/docs`)
    await page.getByText("The description of this API is protected").waitFor()
    await page.getByLabel("Management token").fill(token)
    await page.getByLabel("Management token").press("Enter")
    await page.getByText(`${operationCount} of ${operationCount} operations`).waitFor()
    expect(requests.map(({ authorization }) => authorization)).toEqual([undefined, undefined, `Bearer ${token}`])
    expect(errors).toEqual([consoleError401])
    await page.close()
  })
})
