import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { parseUrl, runShell, startServer, stopServer } from "./startServer.ts"

const folder = mkdtempSync(join(tmpdir(), "tollgate-output-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const listCommands = (output: string): ReadonlyArray<string> =>
  output.split("\n").filter((line) => /^ {2}(curl|[A-Z]+=)/.test(line))

describe("what npm start prints on a later start", () => {
  const data = join(folder, "data")

  it("explains its variables, and its commands work as printed, with a new key", async () => {
    const first = await startServer({ TOLLGATE_DATA: data })
    expect(first.output).not.toMatch(/\$(TOKEN|KEY)/)
    expect(await stopServer(first)).toBe(0)

    const second = await startServer({ TOLLGATE_DATA: data })
    const tokenFile = join(data, "management-token")
    expect(second.output).toContain(`The management token is in ${tokenFile}\n`)
    expect(second.output).toContain("$TOKEN is the management token:\n")
    expect(second.output).toContain(
      '$KEY is an API key of the consumer "alice". Her first key was printed once, at the first start.\n'
    )
    expect(second.output).not.toContain(readFileSync(tokenFile, "utf8").trim())
    const [setToken, setKey, list, create, hello] = listCommands(second.output)
    expect((await runShell(`${setToken}\n${list}`)).data).toMatchObject([{ name: "alice" }])
    expect((await runShell(`${setToken}\n${create}`)).name).toBe("bob")
    expect(await runShell(`${setToken}\n${setKey}\n${hello}`)).toEqual({ hello: "alice", remaining: 4 })
    expect(await stopServer(second)).toBe(0)
  })

  it("says what $TOKEN is when TOLLGATE_TOKENS is set", async () => {
    const started = await startServer({ TOLLGATE_DATA: data, TOLLGATE_TOKENS: "a-token-that-may-also-write:demo" })
    expect(started.output).toContain(
      '$TOKEN is one of the tokens in TOLLGATE_TOKENS, for the account "demo" or for all ("*").\n'
    )
    const [setKey, , , hello] = listCommands(started.output)
    expect(await runShell(`TOKEN=a-token-that-may-also-write\n${setKey}\n${hello}`)).toMatchObject({ hello: "alice" })
    expect(await stopServer(started)).toBe(0)
  })
})

describe("the page at /", () => {
  const data = join(folder, "page")

  it("links to what the server has, and contains no secret", async () => {
    const started = await startServer({ TOLLGATE_DATA: data })
    const url = parseUrl(started.output)
    const response = await fetch(url)
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8")
    const page = await response.text()
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link = ""]) => link)
    expect(links).toEqual(["console/", "v1/docs", "v1/openapi.json", "healthz", "readyz"])
    for (const link of links) expect([link, (await fetch(new URL(link, `${url}/`))).status]).toEqual([link, 200])

    const token = readFileSync(join(data, "management-token"), "utf8").trim()
    const [, , hello = ""] = listCommands(started.output)
    const [, key = ""] = /Bearer (\S+)'/.exec(hello) ?? []
    expect(key).toMatch(/^tg_/)
    for (const secret of [token, key, data]) expect(page).not.toContain(secret)
    expect(await stopServer(started)).toBe(0)
  })

  it("allows its own style and nothing else, and has commands with the public URL, escaped", async () => {
    const started = await startServer({ TOLLGATE_DATA: data, TOLLGATE_PUBLIC_URL: "https://api.example/a&b/" })
    const response = await fetch(parseUrl(started.output))
    const page = await response.text()
    expect(page).toContain("&#39;https://api.example/a&#38;b/hello&#39;")
    const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? ""
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style))
    const hash = Buffer.from(digest).toString("base64")
    expect(response.headers.get("content-security-policy")).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
    )
    expect(page).not.toMatch(/<script|style="|src=|url\(|@import/)
    expect(await stopServer(started)).toBe(0)
  })
})
