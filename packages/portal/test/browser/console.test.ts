import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closePages, launchBrowser, openPage } from "../../../ui/test/browser.ts"
import { type PortalServer, readToken, staffToken, startPortalServer } from "./portalServer.ts"

let browser: Browser
let server: PortalServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startPortalServer()
})
afterAll(async () => {
  await closePages(browser)
  await server.close()
})

const openConsumer = async (token: string) => {
  const opened = await openPage(browser, `${server.origin}/console/#/accounts/acme/consumers/production/alice`, {
    initScript: `sessionStorage.setItem("tollgate-management-token", ${JSON.stringify(token)})`
  })
  await opened.page.getByRole("heading", { name: "alice", level: 1 }).waitFor()
  await opened.page.getByRole("heading", { name: "Latest events" }).waitFor()
  return opened
}

describe("the console", () => {
  it("opens the page of a customer, in the name of who is signed in", async () => {
    const { page, errors, close } = await openConsumer(staffToken)
    const opened = page.waitForEvent("popup")
    await page.getByRole("button", { name: "Open the customer’s page" }).click()
    const portal = await opened
    await portal.getByText("Signed in as Ann of support").waitFor()
    expect(portal.url()).toBe(`${server.origin}/portal/`)
    const { data } = await server.gate.account("acme").portalSessions.list("production", "alice")
    expect(data.map(({ name }) => name)).toEqual(["Ann of support"])
    await page.getByRole("heading", { name: "alice", level: 1 }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("does not offer it to those who may only read", async () => {
    const { page, close } = await openConsumer(readToken)
    expect(await page.getByRole("button", { name: "Open the customer’s page" }).count()).toBe(0)
    await close()
  })
})
