import { parseBearerToken } from "@tollgate/core"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closePages, expectAccessible, insecureHost, launchBrowser, openConsole, passTimeUntil } from "./browser.ts"
import { acmeToken, type ConsoleServer, readToken, startConsoleServer, writeToken } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  await server.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
  await server.gate.account("globex").keyBucket("production").consumers.create({ name: "bob" })
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

const signIn = async (page: Page, token: string): Promise<void> => {
  await page.getByLabel("Management token").fill(token)
  await page.getByRole("button", { name: /Sign in|Go on/ }).click()
}

/** The browser logs this for a response with 401 or when there is no response: both are part of these tests. */
const isExpected = (error: string): boolean => /status of 401|ERR_CONNECTION/.test(error)

describe("the session of the console", () => {
  it("asks for the management token, and keeps it in memory", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.getByRole("heading", { name: "Tollgate console" }).waitFor()
    await expectAccessible(page)
    await signIn(page, writeToken)
    await page.getByRole("link", { name: "globex", exact: true }).waitFor()
    await expectAccessible(page)
    expect(await page.evaluate("sessionStorage.length")).toBe(0)
    await page.reload()
    await page.getByLabel("Management token").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("keeps the token in the tab if asked, and forgets it at sign-out", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.getByLabel("Keep it in this tab until I close it").check()
    await signIn(page, writeToken)
    await page.getByRole("link", { name: "acme", exact: true }).waitFor()
    await page.reload()
    await page.getByRole("link", { name: "acme", exact: true }).waitFor()
    await page.getByText("Settings").click()
    expect(await page.getByLabel("Stay signed in when this tab reloads").isChecked()).toBe(true)
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("Management token").waitFor()
    expect(await page.evaluate("sessionStorage.length")).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it.each(["not the token", "ein-Tökén-mit-Umlauten", "wrong-token-of-ascii-characters"])(
    "says that the token %s is not accepted, and keeps it in the field",
    async (token) => {
      const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
      await signIn(page, token)
      await page.getByText("The server does not accept this token").waitFor()
      expect(await page.getByLabel("Management token").inputValue()).toBe(token)
      await expectAccessible(page)
      expect(errors.filter((error) => !isExpected(error))).toEqual([])
      await close()
    }
  )

  it("signs in with a link, once, and removes the code from the address", async () => {
    const { url } = await server.gate.createConsoleLink()
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.goto("about:blank")
    await page.goto(url)
    await page.getByRole("link", { name: "acme", exact: true }).waitFor()
    expect(page.url()).not.toContain("code")
    await page.goto("about:blank")
    await page.goto(url)
    await page
      .getByText(/works once|only once|once/i)
      .first()
      .waitFor()
    await page.getByLabel("Management token").waitFor()
    await expectAccessible(page)
    expect(errors.filter((error) => !isExpected(error))).toEqual([])
    await close()
  })

  it("signs in with a link in a tab that shows the console already", async () => {
    const { url } = await server.gate.createConsoleLink({ account: "globex", access: "read" })
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.getByLabel("Management token").waitFor()
    await page.goto(url)
    await page.getByText("Your token is read-only").waitFor()
    await page.waitForURL(/#\/accounts\/globex$/)
    expect(errors).toEqual([])
    await close()
  })

  const countExchanges = () => server.responses.filter((response) => response.includes("/console/session")).length

  it("asks before a link replaces a session, and uses its code only then", async () => {
    const { url } = await server.gate.createConsoleLink({ account: "globex" })
    const { page, errors, close } = await openConsole(browser, server.origin, {
      token: acmeToken,
      path: "/accounts/acme/consumers/production"
    })
    await page.getByRole("button", { name: "Create consumer" }).click()
    await page.getByLabel("Name", { exact: true }).fill("half-typed")
    const exchanges = countExchanges()
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(url).hash)}`)
    const question = page.getByRole("dialog", { name: "Sign in with this link instead?" })
    await question.getByText("the account acme").waitFor()
    await expectAccessible(page)
    await question.getByRole("button", { name: "Cancel", exact: true }).click()
    expect(page.url()).toContain("#/accounts/acme/consumers/production")
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("half-typed")
    expect(countExchanges()).toBe(exchanges)

    // The code was not used, so the link still works.
    await page.goto("about:blank")
    await page.goto(url)
    await question.getByText("the account acme").waitFor()
    expect(page.url()).not.toContain("code")
    await question.getByRole("button", { name: "Sign in with the link" }).click()
    await page.waitForURL(/#\/accounts\/globex$/)
    expect(countExchanges()).toBe(exchanges + 1)
    expect(errors).toEqual([])
    await close()
  })

  it("keeps the session if the code of a link is not valid", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: acmeToken })
    await page.waitForURL(/#\/accounts\/acme$/)
    await page.evaluate('location.hash = "#code=nonsense"')
    await page.getByRole("button", { name: "Sign in with the link" }).click()
    await page.getByText("You are still signed in as before").waitFor()
    await page.getByRole("button", { name: "Cancel", exact: true }).click()
    await page.waitForURL(/#\/accounts\/acme$/)
    expect(errors.filter((error) => !isExpected(error))).toEqual([])
    await close()
  })

  it.each(["127.0.0.1", insecureHost])("is not replaced by a page of another site, on %s", async (host) => {
    const [origin, otherOrigin] = [host, host === insecureHost ? "127.0.0.1" : insecureHost].map((name) =>
      server.origin.replace("127.0.0.1", name)
    )
    const createLink = async (account: string) =>
      JSON.stringify((await server.gate.createConsoleLink({ account })).url.replace(server.origin, origin ?? ""))
    const context = await browser.newContext()
    const otherPage = await context.newPage()
    await otherPage.goto(`${otherOrigin}/healthz`)
    const opening = context.waitForEvent("page")
    await otherPage.evaluate(`window.opened = window.open(${await createLink("acme")})`)
    const page = await opening
    await page.waitForURL(/#\/accounts\/acme$/)
    const exchanges = countExchanges()
    await otherPage.evaluate(`opened.location = ${await createLink("globex")}`)
    // Browsers cut the connection between the pages, except over http on a host other than localhost.
    if (host === insecureHost) await page.getByText("Sign in with this link instead?").waitFor()
    else expect(await otherPage.evaluate("opened.closed")).toBe(true)
    expect(page.url()).toMatch(/#\/accounts\/acme$/)
    expect(countExchanges()).toBe(exchanges)
    await context.close()
  })

  it.each(["%", "nonsense", "a.b", "%E0%A4%A"])("says that the code %s of a link is not valid", async (code) => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.goto("about:blank")
    await page.goto(`${server.origin}/console/#code=${code}`)
    await page.getByRole("alert").getByText("once").waitFor()
    await page.getByLabel("Management token").waitFor()
    expect(errors.filter((error) => !isExpected(error))).toEqual([])
    await close()
  })

  it("works where the browser keeps nothing", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: "" })
    await page.addInitScript(`
      for (const name of ["localStorage", "sessionStorage"]) {
        Object.defineProperty(window, name, { get: () => { throw new DOMException("Blocked", "SecurityError") } })
      }
    `)
    await page.reload()
    await signIn(page, writeToken)
    await page.getByRole("link", { name: "acme", exact: true }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("goes straight to the account of a token for one account", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { token: acmeToken })
    await page.waitForURL(/#\/accounts\/acme$/)
    await page.getByRole("navigation", { name: "Main" }).getByText("acme").waitFor()
    expect(await page.getByText("Change account").count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it("tells a read-only token that it changes nothing", async () => {
    const { page, close } = await openConsole(browser, server.origin, { token: readToken })
    await page.getByText("Your token is read-only").waitFor()
    await close()
  })

  it("asks again when the token has expired, and goes on with what was being done", async () => {
    const accepted = new Set(["the-first-token", "the-second-token"])
    const expiring = await startConsoleServer({
      tokens: undefined,
      authenticate: (request) => {
        const token = parseBearerToken(request.headers.get("authorization") ?? undefined) ?? ""
        return accepted.has(token) ? { id: token, account: "acme", access: "write" } : undefined
      }
    })
    await expiring.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
    const { page, errors, close } = await openConsole(browser, expiring.origin, {
      token: "the-first-token",
      path: "/accounts/acme/consumers"
    })
    // The page has loaded everything: only the search is refused.
    await page.getByRole("link", { name: "alice" }).waitFor()
    await page.keyboard.press("/")
    await page.getByRole("dialog").getByLabel("Search for").fill("alice")
    accepted.delete("the-first-token")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Your token is no longer accepted" }).waitFor()
    await expectAccessible(page)
    await signIn(page, "the-second-token")
    await page.getByRole("dialog").getByRole("link", { name: "alice" }).waitFor()
    expect(await page.getByRole("dialog").getByLabel("Search for").inputValue()).toBe("alice")
    expect(errors.filter((error) => !isExpected(error))).toEqual([])
    await close()
    await expiring.close()
  })

  it("works over http on a host other than localhost", async () => {
    const origin = server.origin.replace("127.0.0.1", insecureHost)
    const { page, errors, close } = await openConsole(browser, origin, {
      path: "/accounts/acme/consumers/production"
    })
    await page.getByRole("button", { name: "Create consumer" }).click()
    await page.getByLabel("Name", { exact: true }).fill("insecure")
    await page.getByRole("dialog").getByRole("button", { name: "Create consumer" }).click()
    await page.locator("dialog .secret").waitFor()
    // Such pages have no clipboard.
    expect(await page.evaluate("isSecureContext")).toBe(false)
    await page.getByRole("button", { name: /^Copy/ }).first().click()
    await page.getByText("select the text instead").waitFor()
    const { consumers } = server.gate.account("acme").keyBucket("production")
    expect((await consumers.get("insecure")).name).toBe("insecure")
    // The browser logs that it ignores this header here.
    expect(errors.filter((error) => !error.includes("Cross-Origin-Opener-Policy"))).toEqual([])
    await close()
  })

  it("says when the server cannot be reached, and goes on when it is back", async () => {
    const { page, errors, close } = await openConsole(browser, server.origin, { hasFakeTimers: true })
    await page.getByRole("link", { name: "acme", exact: true }).waitFor()
    await server.pause()
    await page.getByLabel("Open an account by name").fill("globex")
    await page.evaluate('location.hash = "#/?offset=1"')
    await page.getByText("The server cannot be reached").first().waitFor()
    expect(await page.getByLabel("Open an account by name").inputValue()).toBe("globex")
    await server.resume()
    await passTimeUntil(page, page.getByRole("link", { name: "globex", exact: true }))
    await expect.poll(() => page.getByText("The server cannot be reached").count()).toBe(0)
    expect(errors.filter((error) => !isExpected(error))).toEqual([])
    await close()
  })
})
