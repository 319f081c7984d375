import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, expect, it, vi } from "vitest"

const main = new URL("../src/main.ts", import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), "tollgate-start-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Started {
  readonly child: ChildProcess
  readonly output: string
}

/** Starts the server as `npm start` does, and waits for the last line that it prints. */
const startServer = async (environment: Record<string, string>): Promise<Started> => {
  const child = spawn(process.execPath, ["--conditions=source", main], {
    env: { PATH: process.env["PATH"], PORT: "0", ...environment },
    stdio: ["ignore", "pipe", "inherit"]
  })
  let output = ""
  for await (const chunk of child.stdout) {
    output += chunk
    if (/curl .*\/hello'\n/.test(output)) break
  }
  return { child, output }
}

const stop = async ({ child }: Started): Promise<unknown> => {
  const gone = once(child, "exit")
  child.kill("SIGTERM")
  const [code] = await gone
  return code
}

const shell = async (line: string) => JSON.parse((await promisify(execFile)("sh", ["-c", line])).stdout)

describe("npm start", () => {
  const data = join(folder, "data")

  it("serves, and what it prints to paste works as pasted", async () => {
    const started = await startServer({ TOLLGATE_DATA: data })
    const lines = started.output.split("\n").filter((line) => line.trim().startsWith("curl"))
    expect(lines.length).toBe(3)
    const [list, create, hello] = lines as [string, string, string]
    expect((await shell(list)).data.map(({ name }: { name: string }) => name)).toEqual(["alice"])
    expect((await shell(create)).apiKeys[0].key).toMatch(/^tg_/)
    const seen = []
    for (let call = 0; call < 6; call++) seen.push(await shell(hello))
    expect(seen.slice(0, 5).map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, 0])
    expect(seen[5]).toMatchObject({ status: 429, type: "urn:tollgate:problem:quota-exceeded" })
    for (const name of ["management-token", "secret"]) expect(statSync(join(data, name)).mode & 0o777).toBe(0o600)
    expect(await stop(started)).toBe(0)
  }, 30_000)

  it("starts again on what it kept, and shows its token no more", async () => {
    const started = await startServer({ TOLLGATE_DATA: data })
    expect(started.output).not.toContain("shown this once")
    const url = /is at (\S+)/.exec(started.output)?.[1] ?? ""
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect((await fetch(`${url}/v1/metering`)).status).toBe(401)
    expect((await fetch(`${url}/nothing`)).status).toBe(404)
    const mistyped = await fetch(`${url}/v1/meterings`)
    expect(await mistyped.json()).toMatchObject({ status: 404, type: "urn:tollgate:problem:not-found" })
    const [list = ""] = started.output.split("\n").filter((line) => line.trim().startsWith("curl"))
    expect((await shell(list)).data.map(({ name }: { name: string }) => name)).toEqual(["alice", "bob"])
    expect(await stop(started)).toBe(0)
  }, 30_000)

  it("ends with npm, when that is told to", async () => {
    const child = spawn("npm", ["start"], {
      cwd: new URL("../../..", import.meta.url).pathname,
      env: { ...process.env, PORT: "0", TOLLGATE_DATA: data },
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    for await (const chunk of child.stdout) {
      output += chunk
      if (/curl .*\/hello'\n/.test(output)) break
    }
    const url = /is at (\S+)/.exec(output)?.[1] ?? ""
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const gone = once(child, "exit")
    child.kill("SIGTERM")
    await gone
    await vi.waitFor(() => expect(fetch(`${url}/healthz`)).rejects.toThrow(), { timeout: 12_000 })
  }, 30_000)

  it("deploys a folder with tar and curl, as the documentation says", async () => {
    const site = join(folder, "site")
    mkdirSync(join(site, "docs"), { recursive: true })
    writeFileSync(join(site, "index.html"), "<h1>It works</h1>")
    writeFileSync(join(site, "docs/index.html"), "docs")
    const started = await startServer({ TOLLGATE_DATA: data })
    const start = readFileSync(new URL("../../../docs/start.md", import.meta.url), "utf8")
    const lines = /```sh\n(URL=[^`]+)```/.exec(start)?.[1] ?? ""
    const server = /is at (\S+)/.exec(started.output)?.[1] ?? ""
    const token = readFileSync(join(data, "management-token"), "utf8").trim()
    const pasted = lines.replace("http://127.0.0.1:3000", server).replace(/TOKEN=\$\([^)]*\)/, `TOKEN=${token}`)
    const { stdout } = await promisify(execFile)("sh", ["-ec", pasted], { cwd: folder })
    const { url } = JSON.parse(stdout.slice(stdout.indexOf('{"status"')))
    await vi.waitFor(async () => expect(await (await fetch(url)).text()).toBe("<h1>It works</h1>"))
    expect(await (await fetch(`${url}docs/`)).text()).toBe("docs")
    expect(await stop(started)).toBe(0)

    const again = await startServer({ TOLLGATE_DATA: data })
    const address = /is at (\S+)/.exec(again.output)?.[1] ?? ""
    expect(await (await fetch(`${address}${new URL(url).pathname}`)).text()).toBe("<h1>It works</h1>")
    expect(await stop(again)).toBe(0)
  }, 30_000)

  it("stops in time while an upload hangs, and leaves nothing of it", async () => {
    const folder_ = join(folder, "hanging")
    const started = await startServer({ TOLLGATE_DATA: folder_, TOLLGATE_TOKENS: "a-token-that-may-write:acme" })
    const url = /is at (\S+)/.exec(started.output)?.[1] ?? ""
    const response = await fetch(`${url}/v1/deployments/sources`, {
      method: "POST",
      headers: { authorization: "Bearer a-token-that-may-write" },
      body: JSON.stringify({ accountName: "acme", projectName: "p", branchName: "main" })
    })
    const { uploadUrl } = (await response.json()) as { uploadUrl: string }
    const { port, pathname, search } = new URL(uploadUrl)
    const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined)
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nbegun`)
    const sources = join(folder_, "sites/sources")
    await vi.waitFor(() => expect(readdirSync(sources)).toHaveLength(1))
    expect(await stop(started)).toBe(0)
    expect(readdirSync(sources)).toEqual([])
    socket.destroy()
  }, 30_000)

  it("ends at once at a second signal", async () => {
    const hanging = join(folder, "impatient")
    const started = await startServer({ TOLLGATE_DATA: hanging, TOLLGATE_TOKENS: "a-token-that-may-write:acme" })
    const url = /is at (\S+)/.exec(started.output)?.[1] ?? ""
    // A request that does not end keeps the first signal waiting.
    const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => undefined)
    socket.write(
      "POST /v1/metering HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a-token-that-may-write\r\ncontent-length: 9\r\n\r\n{"
    )
    await fetch(`${url}/readyz`)
    const gone = once(started.child, "exit")
    started.child.kill("SIGTERM")
    await vi.waitFor(() => expect(fetch(`${url}/readyz`)).rejects.toThrow())
    expect(started.child.exitCode).toBe(null)
    started.child.kill("SIGTERM")
    expect((await gone)[0]).toBe(1)
    socket.destroy()
  }, 30_000)

  it("killed in the middle of an upload keeps nothing that counts, and the address is still good", async () => {
    const killed = join(folder, "killed")
    const environment = { TOLLGATE_DATA: killed, TOLLGATE_TOKENS: "a-token-that-may-write:acme" }
    const headers = { authorization: "Bearer a-token-that-may-write" }
    const first = await startServer(environment)
    const response = await fetch(`${/is at (\S+)/.exec(first.output)?.[1]}/v1/deployments/sources`, {
      method: "POST",
      headers,
      body: JSON.stringify({ accountName: "acme", projectName: "p", branchName: "main" })
    })
    const { uploadUrl } = (await response.json()) as { uploadUrl: string }
    const { port, pathname, search } = new URL(uploadUrl)
    const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined)
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nbegun`)
    const sources = join(killed, "sites/sources")
    await vi.waitFor(() => expect(readdirSync(sources)).toHaveLength(1))
    const gone = once(first.child, "exit")
    first.child.kill("SIGKILL")
    await gone

    const second = await startServer(environment)
    const url = /is at (\S+)/.exec(second.output)?.[1] ?? ""
    const id = pathname.split("/").at(-1)?.replace(".tar.gz", "")
    const status = () => fetch(`${url}/v1/accounts/acme/projects/p/deployment-status/${id}`, { headers })
    expect((await status()).status).toBe(404)
    mkdirSync(join(killed, "page"))
    writeFileSync(join(killed, "page/index.html"), "whole")
    const archive = (
      await promisify(execFile)("tar", ["-czf", "-", "-C", join(killed, "page"), "."], { encoding: "buffer" })
    ).stdout
    const put = () => fetch(`${url}${pathname}${search}`, { method: "PUT", body: new Uint8Array(archive) })
    // The killed server cannot give the address back: its lease lapses.
    await expect.poll(async () => (await put()).status, { timeout: 60_000, interval: 1_000 }).toBe(200)
    await vi.waitFor(async () => expect(await (await status()).json()).toMatchObject({ status: "SUCCESS" }), {
      timeout: 10_000
    })
    expect(await stop(second)).toBe(0)
  }, 90_000)

  it("is found at the addresses that it is given", async () => {
    const tokens = "a-token-that-may-write:acme"
    const started = await startServer({
      TOLLGATE_DATA: join(folder, "addressed"),
      TOLLGATE_TOKENS: tokens,
      TOLLGATE_PUBLIC_URL: "https://api.example/dev/",
      TOLLGATE_SITES_URL: "https://{name}.sites.example"
    })
    const url = /is at (\S+)/.exec(started.output)?.[1] ?? ""
    const response = await fetch(`${url}/v1/deployments/sources`, {
      method: "POST",
      headers: { authorization: "Bearer a-token-that-may-write" },
      body: JSON.stringify({ accountName: "acme", projectName: "p", branchName: "main" })
    })
    expect(((await response.json()) as { uploadUrl: string }).uploadUrl).toMatch(
      /^https:\/\/api\.example\/dev\/v1\/uploads\//
    )
    const { port } = new URL(url)
    const statusAt = (host: string) =>
      new Promise((resolve, reject) => {
        const request = httpRequest({ hostname: "127.0.0.1", port, path: "/hello", headers: { host } }, (res) =>
          resolve(res.resume().statusCode)
        )
        request.on("error", reject).end()
      })
    expect(await statusAt("api.example")).toBe(401)
    expect(await statusAt("unknown.sites.example")).toBe(404)
    expect(await stop(started)).toBe(0)
  }, 30_000)

  it("takes its tokens, secret and store from the environment", async () => {
    const started = await startServer({
      TOLLGATE_DATA: join(folder, "other"),
      TOLLGATE_STORE: "memory:",
      TOLLGATE_SECRET: "s".repeat(32),
      TOLLGATE_TOKENS: "a-token-that-may-write:acme,a-token-that-may-read:acme:read"
    })
    const url = /is at (\S+)/.exec(started.output)?.[1] ?? ""
    const post = (token: string) =>
      fetch(`${url}/v1/metering`, { method: "POST", headers: { authorization: `Bearer ${token}` } })
    expect((await post("a-token-that-may-write")).status).toBe(200)
    expect((await post("a-token-that-may-read")).status).toBe(403)
    expect(await stop(started)).toBe(0)
  }, 30_000)

  it.each([
    [{ PORT: "many" }, "PORT is a number from 0 to 65535"],
    [{ TOLLGATE_STORE: "mysql://x" }, "TOLLGATE_STORE is"],
    [{ TOLLGATE_STORE: "redis://127.0.0.1:1" }, "Cannot open the Redis at redis://127.0.0.1:1"],
    [{ TOLLGATE_STORE: "sqlite:/nowhere/at/all.db" }, "the folder /nowhere/at does not exist"],
    [{ TOLLGATE_PUBLIC_URL: "example.com" }, "TOLLGATE_PUBLIC_URL is an address"],
    [{ TOLLGATE_SITES_URL: "ftp://x" }, "TOLLGATE_SITES_URL is an address"],
    [
      { TOLLGATE_PUBLIC_URL: "https://a.example", TOLLGATE_SITES_URL: "https://a.example/s" },
      "sitesUrl: must have a different host"
    ],
    [{ TOLLGATE_SITES_URL: "https://a.{name}.example" }, "sitesUrl: must have {name} once"],
    [{ TOLLGATE_SECRET: "short" }, "TOLLGATE_SECRET has at least 32 characters"],
    [{ TOLLGATE_TOKENS: "short:acme" }, "TOLLGATE_TOKENS: number 1"],
    [{ TOLLGATE_TOKENS: "a-token-long-enough:acme:admin" }, "TOLLGATE_TOKENS: number 1"]
  ])(
    "says in one line what is wrong, and ends with 1: %j",
    async (environment, message) => {
      const attempt = promisify(execFile)(process.execPath, ["--conditions=source", main], {
        env: { PATH: process.env["PATH"], PORT: "0", TOLLGATE_DATA: join(folder, "wrong"), ...environment } as Record<
          string,
          string
        >
      })
      const error = await attempt.then(
        () => expect.fail("it started"),
        (error: { code: number; stderr: string }) => error
      )
      expect(error.code).toBe(1)
      expect(error.stderr.trim().split("\n").length).toBe(1)
      expect(error.stderr).toContain(message)
    },
    30_000
  )
})
