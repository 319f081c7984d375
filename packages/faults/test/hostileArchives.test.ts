/**
 * A real server, and a tenant who uploads 20 hostile archives at once: everybody else is served meanwhile, the server
 * stays within its memory, and another account's upload is deployed in time.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { pageOf } from "../../sites/test/archives.ts"
import { hostileArchives } from "../../sites/test/hostileArchives.ts"

const main = new URL("../../examples/express-sqlite/src/main.ts", import.meta.url)
const tokens = { acme: "token-of-acme-for-uploads", other: "token-of-other-for-uploads" }
let folder: string
let server: ChildProcess
let url: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-hostile-"))
  server = spawn(process.execPath, ["--conditions=source", main.pathname], {
    env: {
      PATH: process.env["PATH"],
      PORT: "0",
      TOLLGATE_DATA: folder,
      TOLLGATE_TOKENS: Object.entries(tokens)
        .map(([account, token]) => `${token}:${account}`)
        .join(",")
    },
    stdio: ["ignore", "pipe", "inherit"]
  })
  url = await new Promise<string>((resolve, reject) => {
    let output = ""
    server.once("exit", () => reject(new Error(`The server ended: ${output}`)))
    server.stdout?.on("data", (chunk) => {
      output += chunk
      const [, found] = /Tollgate is at (\S+)/.exec(output) ?? []
      if (found !== undefined) resolve(found)
    })
  })
}, 60_000)
afterAll(() => {
  server.kill("SIGKILL")
  rmSync(folder, { recursive: true, force: true })
})

type Account = keyof typeof tokens

const call = async (account: Account, path: string, init: RequestInit = {}) => {
  const headers = { authorization: `Bearer ${tokens[account]}` }
  const response = await fetch(new URL(path, url), { headers, ...init })
  expect(response.status).toBe(200)
  return JSON.parse(await response.text())
}

const upload = async (account: Account, projectName: string, archive: Uint8Array): Promise<string> => {
  const body = JSON.stringify({ accountName: account, projectName, branchName: "main" })
  const { uploadUrl } = await call(account, "/v1/deployments/sources", { method: "POST", body })
  const sent = await fetch(uploadUrl, { method: "PUT", body: archive as Uint8Array<ArrayBuffer> })
  expect(sent.status).toBe(200)
  const id = new URL(uploadUrl).pathname.split("/").at(-1)?.replace(".tar.gz", "")
  return `/v1/accounts/${account}/projects/${projectName}/deployment-status/${id}`
}

const ended = (account: Account, status: string) =>
  vi.waitFor(
    async () => {
      const last = await call(account, status)
      expect(last.status).toMatch(/^(SUCCESS|ERROR)$/)
      return last
    },
    { interval: 100, timeout: 120_000 }
  )

const residentMiB = (): number => {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** The slowest of what remains when the slowest hundredth is left out. */
const percentile99 = (times: ReadonlyArray<number>): number =>
  times.toSorted((left, right) => left - right)[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN

/** Requests /healthz, and reads the server's memory, until it is told to stop. */
const watch = () => {
  const times: Array<number> = []
  let isOver = false
  let peak = 0
  const watching = (async () => {
    while (!isOver) {
      const start = performance.now()
      const response = await fetch(new URL("/healthz", url))
      await response.arrayBuffer()
      times.push(performance.now() - start)
      expect(response.status).toBe(200)
      peak = Math.max(peak, residentMiB())
      await setTimeout(20)
    }
  })()
  return async () => {
    isOver = true
    await watching
    return { times, peak }
  }
}

/** Kinds that cost the most, and enough of the others to make 20. */
const costly =
  /^(a PAX header of|40 PAX|1,000 PAX|50,000|100,000|200 paths|2,000 paths|21,000|15,000|a file of a gib|100 links|600 MiB|a chain|a PAX header that claims)/

it("20 hostile archives at once hold nobody up", async () => {
  const others = hostileArchives.filter(({ name }) => !costly.test(name))
  const chosen = [...hostileArchives.filter(({ name }) => costly.test(name)), ...others].slice(0, 20)
  const archives = chosen.map(({ make, reason }) => ({ archive: make(), reason }))
  for (const warmUp of [1, 2, 3]) await ended("other", await upload("other", `warm-${warmUp}`, pageOf("warm")))
  const idle = residentMiB()

  const stop = watch()
  const statuses = await Promise.all(archives.map(({ archive }, index) => upload("acme", `p${index}`, archive)))
  const start = performance.now()
  const honest = await ended("other", await upload("other", "honest", pageOf("honest")))
  const took = performance.now() - start
  const results = await Promise.all(statuses.map((status) => ended("acme", status)))
  const refusedAfter = performance.now() - start
  const { times, peak } = await stop()

  for (const [index, { reason }] of archives.entries()) {
    expect(results[index].status).toBe("ERROR")
    expect(results[index].buildResult.error).toMatch(reason)
    expect(results[index].buildResult.log.join()).not.toContain("Taken over")
  }
  expect(honest.status).toBe("SUCCESS")
  await expect.poll(() => readdirSync(join(folder, "sites", "staging")), { timeout: 30_000 }).toEqual([])
  expect(server.exitCode).toBe(null)

  const slow = percentile99(times)
  console.log(
    `20 hostile archives: refused within ${(refusedAfter / 1000).toFixed(1)} s; /healthz ${times.length} times, p99 ` +
      `${slow.toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms; memory ${idle.toFixed(0)} MiB idle, ` +
      `${(peak - idle).toFixed(0)} MiB more at the peak; another account's upload in ${(took / 1000).toFixed(1)} s`
  )
  expect(slow).toBeLessThan(250)
  expect(peak - idle).toBeLessThan(150)
  expect(took).toBeLessThan(10_000)
}, 300_000)
