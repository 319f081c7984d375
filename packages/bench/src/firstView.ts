/**
 * Measures the time until the console shows its first view in Chromium, with an empty cache. An empty page of the same
 * server shows how much of it is the browser's own.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { adminConsole } from "@tollgate/console"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { ensureChromium } from "@tollgate/testing"
import { type Browser, chromium, type Page } from "playwright-core"
import { type Spread, toSpread } from "./measure.ts"

export interface FirstView {
  readonly view: string
  readonly milliseconds: Spread
}

const token = "a-management-token-of-the-benchmark"

const views: ReadonlyArray<{
  readonly view: string
  readonly path: string
  readonly wait: (page: Page) => Promise<void>
}> = [
  { view: "an empty page", path: "/empty", wait: (page) => page.getByText("empty").waitFor() },
  { view: "the sign-in", path: "/console/", wait: (page) => page.getByLabel("Management token").waitFor() },
  {
    view: "the overview of an account, with a plot",
    path: "/console/#/accounts/acme",
    wait: (page) => page.locator("canvas").first().waitFor()
  }
]

const startServer = async () => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "a-secret-of-the-benchmark-with-32-characters",
    tokens: [{ token, account: "*" }],
    modules: [adminConsole()]
  })
  const metering = await gate.account("acme").meteringBuckets.ensure("default")
  await metering.plans.create({ label: "free", meters: { requests: { label: "Requests", max: 1_000 } } })
  const { id } = await metering.subscriptions.create({ customerKey: "alice", planExternalIds: ["free"] })
  await metering.usage.consume(id, { requests: 100 })
  const handle = toNodeHandler(gate)
  const server = createServer((req, res) =>
    req.url === "/empty" ? void res.setHeader("content-type", "text/html").end("empty") : void handle(req, res)
  ).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const stop = async (): Promise<void> => {
    server.close()
    server.closeAllConnections()
    await gate.close()
  }
  return { origin: `http://127.0.0.1:${port}`, stop }
}

/** In a context of its own, which has an empty cache. */
const measureView = async (
  browser: Browser,
  url: string,
  isSignedIn: boolean,
  wait: (page: Page) => Promise<void>
): Promise<number> => {
  const context = await browser.newContext()
  const page = await context.newPage()
  if (isSignedIn) await page.addInitScript(`sessionStorage.setItem("tollgate-management-token", "${token}")`)
  const start = performance.now()
  await page.goto(url)
  await wait(page)
  const milliseconds = performance.now() - start
  await context.close()
  return milliseconds
}

export const measureFirstView = async (rounds: number): Promise<ReadonlyArray<FirstView>> => {
  const { origin, stop } = await startServer()
  const browser = await chromium.launch({ executablePath: ensureChromium(), args: ["--no-sandbox", "--disable-gpu"] })
  const times = views.map((): Array<number> => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, { path, wait }] of views.entries()) {
      times[index]?.push(await measureView(browser, `${origin}${path}`, path.includes("#"), wait))
    }
  }
  await browser.close()
  await stop()
  return views.map(({ view }, index) => ({ view, milliseconds: toSpread(times[index] ?? []) }))
}
