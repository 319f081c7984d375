import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { eventually, getNodeOptions } from "@tollgate/testing"
import { afterAll, describe, expect, it } from "vitest"
import { main, parseUrl, runShell, startServer, stopServer } from "./startServer.ts"

const folder = mkdtempSync(join(tmpdir(), "tollgate-start-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("npm start", () => {
  const data = join(folder, "data")

  it("prints curl commands that work as printed", async () => {
    const started = await startServer({ TOLLGATE_DATA: data })
    const commands = started.output.split("\n").filter((line) => line.trim().startsWith("curl"))
    expect(commands.length).toBe(3)
    const [list, create, hello] = commands as [string, string, string]
    expect((await runShell(list)).data.map(({ name }: { name: string }) => name)).toEqual(["alice"])
    expect((await runShell(create)).apiKeys[0].key).toMatch(/^tg_/)
    const responses = []
    for (let call = 0; call < 6; call++) responses.push(await runShell(hello))
    expect(responses.slice(0, 5).map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, 0])
    expect(responses[5]).toMatchObject({ status: 429, type: "urn:tollgate:problem:quota-exceeded" })
    for (const name of ["management-token", "secret"]) expect(statSync(join(data, name)).mode & 0o777).toBe(0o600)
    expect(await stopServer(started)).toBe(0)
  })

  it("restarts with its data, and does not print the token again", async () => {
    const started = await startServer({ TOLLGATE_DATA: data })
    expect(started.output).not.toContain("printed only once")
    const url = parseUrl(started.output)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect((await fetch(`${url}/v1/metering`)).status).toBe(401)
    expect((await fetch(`${url}/unknown`)).status).toBe(404)
    const authorization = `Bearer ${readFileSync(join(data, "management-token"), "utf8").trim()}`
    const me = await fetch(`${url}/v1/me`, { headers: { authorization } })
    expect(await me.json()).toMatchObject({ accountName: "*", permissions: ["*"] })
    const mistyped = await fetch(`${url}/v1/meterings`)
    expect(await mistyped.json()).toMatchObject({ status: 404, type: "urn:tollgate:problem:not-found" })
    expect(await stopServer(started)).toBe(0)
  })

  it("records spans with the OpenTelemetry SDK that is registered", async () => {
    const register = new URL("registerSdk.ts", import.meta.url).href
    const started = await startServer({ TOLLGATE_DATA: data, NODE_OPTIONS: `--import=${register}` })
    expect((await fetch(`${parseUrl(started.output)}/v1/me`)).status).toBe(401)
    await eventually(() => expect(started.readLog()).toContain("span GET /v1/me\n"))
    expect(await stopServer(started)).toBe(0)
  })

  it("prints a link to the console, which works once and may see all accounts", async () => {
    const started = await startServer({ TOLLGATE_DATA: data })
    const url = parseUrl(started.output)
    const [, page = "", code = ""] =
      /^API reference: .*\nConsole: (\S+)#code=(\S+) \(works once, within 5 minutes\)$/m.exec(started.output) ?? []
    expect(page).toBe(`${url}/console/`)
    expect(await (await fetch(page)).text()).toContain("<title>Tollgate console</title>")
    const exchange = () => fetch(`${page}session`, { method: "POST", body: JSON.stringify({ code }) })
    const { token } = (await (await exchange()).json()) as { token: string }
    const accounts = await fetch(`${url}/v1/accounts`, { headers: { authorization: `Bearer ${token}` } })
    expect(await accounts.json()).toMatchObject({ data: [{ name: "demo" }] })
    expect((await exchange()).status).toBe(401)
    expect(await stopServer(started)).toBe(0)
  })

  it("serves metrics to the management token only", async () => {
    const started = await startServer({ TOLLGATE_DATA: data })
    const url = parseUrl(started.output)
    const token = readFileSync(join(data, "management-token"), "utf8").trim()
    await fetch(`${url}/hello`)
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    expect(metrics.status).toBe(200)
    expect(metrics.headers.get("content-type")).toContain("text/plain; version=0.0.4")
    expect(await metrics.text()).toMatch(
      /^tollgate_authorize_total\{tollgate_outcome="refused",tollgate_reason="malformed-key"\} 1$/m
    )
    expect((await fetch(`${url}/metrics`)).status).toBe(401)
    expect(await stopServer(started)).toBe(0)
  })

  it("stops when npm receives SIGTERM", async () => {
    const child = spawn("npm", ["start"], {
      cwd: new URL("../../..", import.meta.url).pathname,
      env: { ...process.env, PORT: "0", TOLLGATE_DATA: data },
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    for await (const chunk of child.stdout ?? []) {
      output += chunk
      if (/curl .*\/hello'\n/.test(output)) break
    }
    const url = parseUrl(output)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const exited = once(child, "exit")
    child.kill("SIGTERM")
    await exited
    await eventually(() => expect(fetch(`${url}/healthz`)).rejects.toThrow())
  })

  it("deploys a folder with the tar and curl commands in docs/start.md, and logs that it did", async () => {
    const site = join(folder, "site")
    mkdirSync(join(site, "docs"), { recursive: true })
    writeFileSync(join(site, "index.html"), "<h1>It works</h1>")
    writeFileSync(join(site, "docs/index.html"), "docs")
    const started = await startServer({ TOLLGATE_DATA: data })
    const guide = readFileSync(new URL("../../../docs/start.md", import.meta.url), "utf8")
    const commands = /```sh\n(URL=[^`]+)```/.exec(guide)?.[1] ?? ""
    const serverUrl = parseUrl(started.output)
    const token = readFileSync(join(data, "management-token"), "utf8").trim()
    const script = commands.replace("http://127.0.0.1:3000", serverUrl).replace(/TOKEN=\$\([^)]*\)/, `TOKEN=${token}`)
    const { stdout } = await promisify(execFile)("sh", ["-ec", script], { cwd: folder })
    const { url } = JSON.parse(stdout.slice(stdout.indexOf('{"status"')))
    await eventually(async () => expect(await (await fetch(url)).text()).toBe("<h1>It works</h1>"))
    expect(await (await fetch(`${url}docs/`)).text()).toBe("docs")
    await eventually(() => {
      const entry = { time: expect.stringMatching(/^\d{4}-.*Z$/), level: "info", message: "A deployment succeeded" }
      const lines = started.readLog().trim().split("\n")
      expect(lines.map((line) => JSON.parse(line))).toContainEqual(expect.objectContaining(entry))
    })
    expect(await stopServer(started)).toBe(0)

    const restarted = await startServer({ TOLLGATE_DATA: data })
    const restartedUrl = parseUrl(restarted.output)
    expect(await (await fetch(`${restartedUrl}${new URL(url).pathname}`)).text()).toBe("<h1>It works</h1>")
    expect(await stopServer(restarted)).toBe(0)
  })

  it("stops in time during a stalled upload, and deletes the partial file", async () => {
    const dataFolder = join(folder, "stalled")
    const started = await startServer({
      TOLLGATE_DATA: dataFolder,
      TOLLGATE_TOKENS: "a-token-that-may-also-write:acme"
    })
    const url = parseUrl(started.output)
    const response = await fetch(`${url}/v1/deployments/sources`, {
      method: "POST",
      headers: { authorization: "Bearer a-token-that-may-also-write" },
      body: JSON.stringify({ accountName: "acme", projectName: "p", branchName: "main" })
    })
    const { uploadUrl } = (await response.json()) as { uploadUrl: string }
    const { port, pathname, search } = new URL(uploadUrl)
    const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined)
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nbegun`)
    const sources = join(dataFolder, "sites/sources")
    await eventually(() => expect(readdirSync(sources)).toHaveLength(1))
    expect(await stopServer(started)).toBe(0)
    expect(readdirSync(sources)).toEqual([])
    socket.destroy()
  })

  it("exits immediately on a second signal", async () => {
    const dataFolder = join(folder, "second-signal")
    const started = await startServer({
      TOLLGATE_DATA: dataFolder,
      TOLLGATE_TOKENS: "a-token-that-may-also-write:acme"
    })
    const url = parseUrl(started.output)
    // After the first signal, the server waits for this unfinished request.
    const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => undefined)
    socket.write(
      "POST /v1/metering HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a-token-that-may-also-write\r\ncontent-length: 9\r\n\r\n{"
    )
    await fetch(`${url}/readyz`)
    const exited = once(started.child, "exit")
    started.child.kill("SIGTERM")
    await eventually(() => expect(fetch(`${url}/readyz`)).rejects.toThrow())
    expect(started.child.exitCode).toBe(null)
    started.child.kill("SIGTERM")
    expect((await exited)[0]).toBe(1)
    socket.destroy()
  })

  it("uses TOLLGATE_PUBLIC_URL and TOLLGATE_SITES_URL", async () => {
    const tokens = "a-token-that-may-also-write:acme"
    const started = await startServer({
      TOLLGATE_DATA: join(folder, "urls"),
      TOLLGATE_TOKENS: tokens,
      TOLLGATE_PUBLIC_URL: "https://api.example/dev/",
      TOLLGATE_SITES_URL: "https://{name}.sites.example"
    })
    const url = parseUrl(started.output)
    const response = await fetch(`${url}/v1/deployments/sources`, {
      method: "POST",
      headers: { authorization: "Bearer a-token-that-may-also-write" },
      body: JSON.stringify({ accountName: "acme", projectName: "p", branchName: "main" })
    })
    expect(((await response.json()) as { uploadUrl: string }).uploadUrl).toMatch(
      /^https:\/\/api\.example\/dev\/v1\/uploads\//
    )
    const { port } = new URL(url)
    const getStatus = (host: string) =>
      new Promise((resolve, reject) => {
        const request = httpRequest({ hostname: "127.0.0.1", port, path: "/hello", headers: { host } }, (res) =>
          resolve(res.resume().statusCode)
        )
        request.on("error", reject).end()
      })
    expect(await getStatus("api.example")).toBe(401)
    expect(await getStatus("unknown.sites.example")).toBe(404)
    expect(await stopServer(started)).toBe(0)
  })

  it("reads its tokens, secret and store from the environment", async () => {
    const started = await startServer({
      TOLLGATE_DATA: join(folder, "other"),
      TOLLGATE_STORE: "memory:",
      TOLLGATE_SECRET: "s".repeat(32),
      TOLLGATE_TOKENS:
        "a-token-that-may-also-write:acme,a-token-that-may-only-read:acme:read,a-token-that-may-do-anything:acme:admin"
    })
    const url = parseUrl(started.output)
    const post = (token: string) =>
      fetch(`${url}/v1/metering`, { method: "POST", headers: { authorization: `Bearer ${token}` } })
    expect((await post("a-token-that-may-also-write")).status).toBe(200)
    expect((await post("a-token-that-may-only-read")).status).toBe(403)
    expect((await post("a-token-that-may-do-anything")).status).toBe(200)
    const listTokens = (token: string) =>
      fetch(`${url}/v1/accounts/acme/tokens`, { headers: { authorization: `Bearer ${token}` } })
    expect((await listTokens("a-token-that-may-also-write")).status).toBe(403)
    expect((await listTokens("a-token-that-may-do-anything")).status).toBe(200)
    expect(await stopServer(started)).toBe(0)
  })
})

describe("an invalid setting", { concurrent: true }, () => {
  it.each([
    [{ PORT: "many" }, "PORT must be a number from 0 to 65535"],
    [{ TOLLGATE_STORE: "mysql://x" }, "TOLLGATE_STORE must be"],
    [{ TOLLGATE_STORE: "redis://127.0.0.1:1" }, "Cannot open the Redis at redis://127.0.0.1:1"],
    [{ TOLLGATE_STORE: "sqlite:/nowhere/at/all.db" }, "the folder /nowhere/at does not exist"],
    [{ TOLLGATE_PUBLIC_URL: "example.com" }, "TOLLGATE_PUBLIC_URL must be a URL"],
    [{ TOLLGATE_SITES_URL: "ftp://x" }, "TOLLGATE_SITES_URL must be a URL"],
    [
      { TOLLGATE_PUBLIC_URL: "https://a.example", TOLLGATE_SITES_URL: "https://a.example/s" },
      "sitesUrl: must have a different host"
    ],
    [{ TOLLGATE_SITES_URL: "https://a.{name}.example" }, "sitesUrl: must have {name} once"],
    [{ TOLLGATE_SECRET: "short" }, "TOLLGATE_SECRET must have at least 32 characters"],
    [{ TOLLGATE_TOKENS: "short:acme" }, "TOLLGATE_TOKENS: entry 1"],
    [{ TOLLGATE_TOKENS: "a-token-that-is-long-enough:acme:owner" }, "TOLLGATE_TOKENS: entry 1"]
  ])("is explained in one line, and npm start exits with 1: %j", async (environment, message) => {
    const attempt = promisify(execFile)(process.execPath, [...getNodeOptions(), main], {
      env: { PATH: process.env["PATH"], PORT: "0", TOLLGATE_DATA: join(folder, "wrong"), ...environment } as Record<
        string,
        string
      >
    })
    const error = await attempt.then(
      () => expect.fail("The server started"),
      (error: { code: number; stderr: string }) => error
    )
    expect(error.code).toBe(1)
    expect(error.stderr.trim().split("\n").length).toBe(1)
    expect(error.stderr).toContain(message)
  })
})
