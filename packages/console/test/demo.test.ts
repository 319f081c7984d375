/** The demo data of `npm start`, in the console and behind it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createClient } from "@tollgate/core/client"
import { decisionsClient } from "@tollgate/decisions/client"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  parseUrl,
  type StartedServer,
  startServer,
  stopServer
} from "../../../examples/express-sqlite/test/startServer.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"

const folder = mkdtempSync(join(tmpdir(), "tollgate-demo-test-"))
let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(async () => {
  await closePages(browser)
  rmSync(folder, { recursive: true, force: true })
})

const dayMs = 86_400_000

const readToken = (data: string): string => readFileSync(join(data, "management-token"), "utf8").trim()

const openClient = (started: StartedServer, token: string) =>
  createClient({ baseUrl: parseUrl(started.output), token, modules: [decisionsClient] }).account("demo")

/** What must be the same at every run. */
const readState = async (demo: ReturnType<typeof openClient>) => {
  const { consumers } = demo.keyBucket("production")
  const names: Array<string> = []
  for await (const { name, description, disabled } of consumers.list()) names.push(`${name} ${description} ${disabled}`)
  const [bucket] = (await demo.meteringBuckets.list()).data
  const { subscriptions } = demo.meteringBucket(bucket?.id ?? "")
  const plans: Array<string> = []
  let oldest = Date.now()
  for await (const { customerKey, planExternalIds, status, createdOn } of subscriptions.list()) {
    plans.push(`${customerKey} ${planExternalIds} ${status}`)
    oldest = Math.min(oldest, Date.parse(createdOn))
  }
  return { names: names.sort(), plans: plans.sort(), oldest }
}

describe("npm start -- --demo", { timeout: 480_000 }, () => {
  let filled: Awaited<ReturnType<typeof readState>>

  it("is offered with one click by a plain start, to whom may do everything, and kept at a restart", async () => {
    const data = join(folder, "plain")
    const started = await startServer({ TOLLGATE_DATA: data })
    const url = parseUrl(started.output)
    const token = readToken(data)
    const fill = (token: string) =>
      fetch(`${url}/demo`, { method: "POST", headers: { authorization: `Bearer ${token}` } })
    expect((await fill("another-token-of-nobody")).status).toBe(403)
    const { page, errors, close } = await openConsole(browser, url, { token, path: "/" })
    const button = page.getByRole("button", { name: "Fill with demo data" })
    await button.waitFor()
    await expectAccessible(page)
    await button.click()
    await page.getByRole("heading", { name: "See it with data" }).waitFor({ state: "detached", timeout: 400_000 })
    await page.getByRole("heading", { name: "Requests" }).waitFor()
    const demo = openClient(started, token)
    filled = await readState(demo)
    expect(filled.names).toHaveLength(201)
    expect(filled.plans).toContain("alice free active")
    expect(filled.plans).toContain("cedar-bank-labs pro active")
    expect(filled.plans).toContain("grove-foods-labs starter canceled")
    expect(filled.names).toContain("harbor-games-labs Harbor Games Labs true")
    expect(Math.abs(Date.now() - 90 * dayMs - filled.oldest)).toBeLessThan(dayMs)

    const outcomes = await demo.decisions.outcomes("production", {
      from: new Date(Date.now() - 100 * dayMs),
      to: new Date(Date.now() + dayMs)
    })
    const days = outcomes.data.filter(({ allowed }) => allowed > 0)
    expect(days.length).toBeGreaterThan(85)
    const reasons = new Set(outcomes.data.flatMap(({ refused }) => Object.keys(refused)))
    for (const reason of ["over-quota", "rate-limited", "malformed-key", "disabled-consumer"])
      expect(reasons).toContain(reason)
    const { data: events } = await demo.events.list({ type: "subscription.updated", limit: 1_000 })
    expect(new Set(events.map(({ actor }) => actor.name))).toContain("Ann Lee")

    expect((await fill(token)).status).toBe(204)
    expect((await readState(demo)).names).toHaveLength(201)
    expect(errors).toEqual([])
    await close()
    expect(await stopServer(started)).toBe(0)

    const again = await startServer({ TOLLGATE_DATA: data }, ["--demo"])
    expect(await readState(openClient(again, readToken(data)))).toEqual(filled)
    expect(await stopServer(again)).toBe(0)
  })

  it("fills a store in memory with the same, and opens it with its link", async () => {
    const data = join(folder, "memory")
    const started = await startServer({ TOLLGATE_DATA: data, TOLLGATE_STORE: "memory:" }, ["--demo"])
    const url = parseUrl(started.output)
    const state = await readState(openClient(started, readToken(data)))
    expect([state.names, state.plans]).toEqual([filled.names, filled.plans])

    const [, link = ""] = /Console: (\S+)/.exec(started.output) ?? []
    const { page, errors, close } = await openConsole(browser, url, { token: "", path: "" })
    await page.goto(link)
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
    await page.waitForURL(/#\/accounts\/demo$/)
    expect(await page.getByRole("button", { name: "Fill with demo data" }).count()).toBe(0)
    expect(errors).toEqual([])
    await close()
    expect(await stopServer(started)).toBe(0)
  })
})
