/**
 * Signs in at a real provider, and tries what an attacker would.
 */
import { once } from "node:events"
import { createServer, get, type RequestListener } from "node:http"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { createSignIn, type SignInOptions } from "../src/signIn.ts"
import { type Browser, openBrowser } from "./browser.ts"
import { listen } from "./listen.ts"
import { client, encode, readClaims, signIdToken, startProvider, type TestProvider } from "./provider.ts"

type Recipe = typeof import("../src/console.ts") & typeof import("../src/app.ts") & typeof import("../src/server.ts")

const cookieSecret = "a-cookie-secret-with-at-least-32-characters"
let url: string
let provider: TestProvider
let recipe: Recipe
let application: RequestListener
const stops: Array<() => unknown> = []

beforeAll(async () => {
  const server = createServer((req, res) => application(req, res))
  const { url: publicUrl, stop } = await listen(server)
  url = publicUrl
  provider = await startProvider(`${url}/sign-in/callback`)
  vi.stubEnv("PUBLIC_URL", url)
  vi.stubEnv("TOLLGATE_SECRET", "test-secret-with-at-least-32-characters")
  vi.stubEnv("COOKIE_SECRET", cookieSecret)
  vi.stubEnv("OIDC_ISSUER", provider.issuer)
  vi.stubEnv("OIDC_CLIENT_ID", client.id)
  vi.stubEnv("OIDC_CLIENT_SECRET", client.secret)
  recipe = {
    ...(await import("../src/console.ts")),
    ...(await import("../src/app.ts")),
    ...(await import("../src/server.ts"))
  }
  vi.unstubAllEnvs()
  stops.push(stop, provider.stop, () => recipe.gate.close())
})
afterAll(async () => {
  for (const stop of stops) await stop()
})

/** What the application logged. */
const listErrors = (): ReadonlyArray<string> => vi.mocked(console.error).mock.calls.map(([, message]) => message)

beforeEach(() => {
  application = recipe.app
  provider.changeIdToken = (idToken) => idToken
  vi.spyOn(console, "error").mockReturnValue(undefined)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Begins to sign in, and returns the URL of the provider. */
const start = async (browser: Browser): Promise<string> =>
  (await browser.visit(`${url}/sign-in`)).headers.get("location") ?? ""

/** Signs in at the provider, and returns the URL of the callback, which is not visited. */
const reachCallback = async (browser: Browser, name = "platform"): Promise<string> =>
  browser.useProvider(await start(browser), name)

const change = (address: string, name: string, value: string): string => {
  const changed = new URL(address)
  changed.searchParams.set(name, value)
  return changed.href
}

const expectFailure = async (response: Response, error: string): Promise<void> => {
  expect(listErrors()).toEqual([expect.stringContaining(error)])
  expect([response.status, await response.text()]).toEqual([400, "Sign-in failed. Start again."])
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8")
  expect(response.headers.get("location")).toBeNull()
}

const expectNoAttempt = async (response: Response): Promise<void> => {
  expect(listErrors()).toEqual([])
  expect([response.status, await response.text()]).toEqual([400, expect.stringMatching("not started here")])
}

/** Exchanges the code that the console takes from its address. */
const openSession = async (location: string): Promise<unknown> => {
  const [page, code] = location.split("#code=")
  const session = await fetch(new URL("session", page), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code })
  })
  const { token } = (await session.json()) as { token: string }
  const me = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  return me.json()
}

describe.each(["Express", "Node"])("with %s", (name) => {
  beforeEach(() => {
    application = name === "Express" ? recipe.app : (req, res) => recipe.server.emit("request", req, res)
  })

  it.each([
    ["platform", "admin"],
    ["support", "support"],
    ["engineering", "viewer"]
  ])("opens the console for the group %s", async (group, role) => {
    const browser = openBrowser()
    const response = await browser.visit(await reachCallback(browser, group))
    expect(listErrors()).toEqual([])
    const location = response.headers.get("location") ?? ""
    expect([response.status, response.headers.get("cache-control")]).toEqual([302, "no-store"])
    expect(location.split("=")[0]).toBe(`${url}/api/console/#code`)
    expect(await openSession(location)).toMatchObject({
      accountName: "acme",
      name: expect.any(String),
      permissions: [role]
    })
  })

  it("does not open it for a person without a role", async () => {
    const browser = openBrowser()
    const response = await browser.visit(await reachCallback(browser, "marketing"))
    expect([response.status, await response.text()]).toEqual([403, "You have no access to the console."])
    expect(response.headers.get("location")).toBeNull()
  })
})

describe("the request to the provider", () => {
  it("has PKCE, a state and a nonce, which are new each time", async () => {
    const requests = await Promise.all([start(openBrowser()), start(openBrowser())])
    const [first, second] = requests.map((request) => new URL(request).searchParams)
    expect(Object.fromEntries(first ?? [])).toEqual({
      client_id: client.id,
      response_type: "code",
      redirect_uri: `${url}/sign-in/callback`,
      scope: "openid email groups",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/)
    })
    for (const name of ["code_challenge", "state", "nonce"]) expect(first?.get(name)).not.toBe(second?.get(name))
  })

  it("takes no target from a query or a Host header", async () => {
    const query = "redirect_uri=https://evil.example&url=https://evil.example&return_to=//evil.example"
    const { headers } = await openBrowser().visit(`${url}/sign-in?${query}`)
    expect(headers.get("location")).not.toContain("evil")
    const [response] = await once(get(`${url}/sign-in`, { headers: { host: "evil.example" } }), "response")
    expect([response.statusCode, response.headers.location]).toEqual([302, expect.not.stringContaining("evil")])
    response.resume()
    const browser = openBrowser()
    const callback = await browser.visit(`${await reachCallback(browser)}&${query}`)
    expect(callback.headers.get("location")).toMatch(`${url}/api/console/#code=`)
  })
})

describe("the callback", () => {
  it("refuses a browser that did not begin", async () => {
    const callback = await reachCallback(openBrowser())
    await expectNoAttempt(await openBrowser().visit(callback))
  })

  it("refuses the callback of another browser, which has begun, too", async () => {
    const victim = openBrowser()
    await start(victim)
    const response = await victim.visit(await reachCallback(openBrowser()))
    await expectFailure(response, 'unexpected "state"')
  })

  it("refuses the code of another browser, with the state of its own", async () => {
    const [victim, attacker] = [openBrowser(), openBrowser()]
    const code = new URL(await reachCallback(victim)).searchParams.get("code") ?? ""
    const response = await attacker.visit(change(await reachCallback(attacker), "code", code))
    await expectFailure(response, "invalid_grant")
  })

  it("refuses a response without a state", async () => {
    const browser = openBrowser()
    const callback = new URL(await reachCallback(browser))
    callback.searchParams.delete("state")
    await expectFailure(await browser.visit(callback.href), '"state" missing')
  })

  it("refuses the response of another provider", async () => {
    const browser = openBrowser()
    const response = await browser.visit(change(await reachCallback(browser), "iss", "https://evil.example"))
    await expectFailure(response, 'unexpected "iss"')
  })

  it("refuses a replay, also with the cookie", async () => {
    const browser = openBrowser()
    const callback = await reachCallback(browser)
    const cookies = new Map(browser.cookies)
    expect((await browser.visit(callback)).status).toBe(302)
    expect(browser.cookies.has("sign-in")).toBe(false)
    await expectNoAttempt(await browser.visit(callback))
    for (const [name, value] of cookies) browser.cookies.set(name, value)
    await expectFailure(await browser.visit(callback), "invalid_grant")
  })

  it("ends an attempt that failed", async () => {
    const browser = openBrowser()
    const callback = await reachCallback(browser)
    await browser.visit(change(callback, "state", "wrong"))
    vi.mocked(console.error).mockClear()
    await expectNoAttempt(await browser.visit(callback))
  })

  it("refuses a cookie that was changed", async () => {
    const browser = openBrowser()
    const callback = await reachCallback(browser)
    const [text = "", signature = ""] = browser.cookies.get("sign-in")?.split(".") ?? []
    const attempt = JSON.parse(Buffer.from(text, "base64url").toString())
    const later = Buffer.from(JSON.stringify({ ...attempt, expiresOn: attempt.expiresOn + 1 })).toString("base64url")
    for (const value of [`${later}.${signature}`, `${text}.`, text, ".", "x.y"]) {
      browser.cookies.set("sign-in", value)
      await expectNoAttempt(await browser.visit(callback))
    }
    browser.cookies.set("sign-in", `${text}.${signature}`)
    expect((await browser.visit(callback)).status).toBe(302)
  })

  it("refuses an attempt that is older than 10 minutes", async () => {
    const browser = openBrowser()
    const callback = await reachCallback(browser)
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10 * 60_000 })
    await expectNoAttempt(await browser.visit(callback))
  })

  it("shows nothing of an error of the provider", async () => {
    const browser = openBrowser()
    const callback = await browser.decline(await start(browser))
    expect(new URL(callback).searchParams.get("error")).toBe("access_denied")
    const response = await browser.visit(change(callback, "error_description", "<script>alert(1)</script>"))
    await expectFailure(response, "access_denied")
  })

  it("refuses an ID token with the nonce of another attempt", async () => {
    const browser = openBrowser()
    const callback = await browser.useProvider(change(await start(browser), "nonce", "another"), "platform")
    await expectFailure(await browser.visit(callback), 'unexpected ID Token "nonce"')
  })

  it("refuses a code that was requested with another challenge", async () => {
    const browser = openBrowser()
    const request = change(await start(browser), "code_challenge", "x".repeat(43))
    const response = await browser.visit(await browser.useProvider(request, "platform"))
    await expectFailure(response, "invalid_grant")
  })

  const anHourAgo = (): number => Math.floor(Date.now() / 1_000) - 3_600
  const changes: ReadonlyArray<readonly [name: string, change: (idToken: string) => string, error: string]> = [
    ["for another audience", (token) => signIdToken({ ...readClaims(token), aud: "another" }), '"aud" (audience)'],
    ["of another issuer", (token) => signIdToken({ ...readClaims(token), iss: "https://evil.example" }), '"iss"'],
    ["that has expired", (token) => signIdToken({ ...readClaims(token), exp: anHourAgo() }), '"exp"'],
    ["without a nonce", (token) => signIdToken({ ...readClaims(token), nonce: undefined }), '"nonce"'],
    [
      "with the signature of another",
      (token) => token.replace(/[^.]+$/, signIdToken({}).split(".")[2] ?? ""),
      "signature"
    ],
    ["without a signature", (token) => `${encode({ alg: "none" })}.${token.split(".")[1]}.`, '"alg"']
  ]

  it("takes an ID token that the tests have signed", async () => {
    provider.changeIdToken = (token) => signIdToken(readClaims(token))
    const browser = openBrowser()
    expect((await browser.visit(await reachCallback(browser))).status).toBe(302)
  })

  it.each(changes)("refuses an ID token %s", async (_name, changeIdToken, error) => {
    provider.changeIdToken = changeIdToken
    const browser = openBrowser()
    await expectFailure(await browser.visit(await reachCallback(browser)), error)
  })
})

describe("createSignIn", () => {
  const options: SignInOptions<string> = {
    issuer: "https://provider.example",
    clientId: client.id,
    clientSecret: client.secret,
    callbackUrl: "https://example.com/sign-in/callback",
    scope: "openid",
    cookieSecret,
    toPerson: ({ sub }) => sub,
    openConsole: async () => "/",
    logError: (message) => console.error("", message)
  }

  it("binds the cookie to the host over https", async () => {
    const { start } = createSignIn({ ...options, issuer: provider.issuer })
    application = start
    const { headers } = await fetch(url, { redirect: "manual" })
    expect(headers.get("set-cookie")).toMatch(
      /^__Host-sign-in=[\w-]+\.[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/
    )
  })

  it("talks http to a provider on this machine only", async () => {
    application = createSignIn({ ...options, issuer: "http://provider.example" }).start
    const response = await fetch(url)
    expect([response.status, await response.text()]).toEqual([500, expect.stringMatching("Try again later")])
    expect(listErrors()).toEqual([expect.stringContaining("only requests to HTTPS are allowed")])
  })

  it("tries again when the provider could not be reached", async () => {
    const server = createServer((_req, res) => res.writeHead(503).end())
    const { url: issuer, stop } = await listen(server)
    stops.push(stop)
    application = createSignIn({ ...options, issuer }).start
    expect((await fetch(url, { redirect: "manual" })).status).toBe(500)
    server.removeAllListeners("request").on("request", (_req, res) => {
      const authorization_endpoint = `${issuer}/auth`
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ issuer, authorization_endpoint }))
    })
    expect((await fetch(url, { redirect: "manual" })).status).toBe(302)
  })

  it("needs a secret for its cookies", () => {
    expect(() => createSignIn({ ...options, cookieSecret: "short" })).toThrow("at least 32 characters")
  })
})
