/**
 * One account uploads 20 hostile archives concurrently to a real server. The server still responds quickly to other
 * requests, its memory stays bounded, and another account's upload is deployed in time.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { getNodeOptions } from "@tollgate/testing"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { makePageArchive } from "../../sites/test/archives.ts"
import { hostileArchives } from "../../sites/test/hostileArchives.ts"

const main = new URL("../../../examples/express-sqlite/src/main.ts", import.meta.url)
const tokens = { acme: "token-of-acme-for-uploads", other: "token-of-other-for-uploads" }
let folder: string
let server: ChildProcess
let url: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-hostile-"))
  server = spawn(process.execPath, [...getNodeOptions(), main.pathname], {
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
    server.once("exit", () => reject(new Error(`The server exited: ${output}`)))
    server.stdout?.on("data", (chunk) => {
      output += chunk
      const [, listeningUrl] = /Tollgate is listening at (\S+)/.exec(output) ?? []
      if (listeningUrl !== undefined) resolve(listeningUrl)
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
  const response = await fetch(uploadUrl, { method: "PUT", body: archive as Uint8Array<ArrayBuffer> })
  expect(response.status).toBe(200)
  const id = new URL(uploadUrl).pathname.split("/").at(-1)?.replace(".tar.gz", "")
  return `/v1/accounts/${account}/projects/${projectName}/deployment-status/${id}`
}

const waitForEnd = (account: Account, statusPath: string) =>
  vi.waitFor(
    async () => {
      const status = await call(account, statusPath)
      expect(status.status).toMatch(/^(SUCCESS|ERROR)$/)
      return status
    },
    { interval: 100, timeout: 120_000 }
  )

const readResidentMiB = (): number => {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

const percentile99 = (times: ReadonlyArray<number>): number =>
  times.toSorted((left, right) => left - right)[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN

/** Requests /healthz and reads the server's memory, until the returned function is called. */
const startMonitor = () => {
  const times: Array<number> = []
  let isStopped = false
  let peak = 0
  const monitor = (async () => {
    while (!isStopped) {
      const start = performance.now()
      const response = await fetch(new URL("/healthz", url))
      await response.arrayBuffer()
      times.push(performance.now() - start)
      expect(response.status).toBe(200)
      peak = Math.max(peak, readResidentMiB())
      await setTimeout(20)
    }
  })()
  return async () => {
    isStopped = true
    await monitor
    return { times, peak }
  }
}

/** The archives that cost the most to reject. */
const expensive =
  /^(a PAX header of|40 PAX|1,000 PAX|50,000|100,000|200 paths|2,000 paths|21,000|15,000|a file of a gib|100 links|600 MiB|a chain|a PAX header that claims)/

it("20 concurrent hostile archives do not delay other requests", async () => {
  const others = hostileArchives.filter(({ name }) => !expensive.test(name))
  const selected = [...hostileArchives.filter(({ name }) => expensive.test(name)), ...others].slice(0, 20)
  const archives = selected.map(({ make, reason }) => ({ archive: make(), reason }))
  for (const warmUp of [1, 2, 3])
    await waitForEnd("other", await upload("other", `warm-${warmUp}`, makePageArchive("warm")))
  const idleMiB = readResidentMiB()

  const stopQuiet = startMonitor()
  await setTimeout(2_000)
  const quietP99 = percentile99((await stopQuiet()).times)
  const stopMonitor = startMonitor()
  const statusPaths = await Promise.all(archives.map(({ archive }, index) => upload("acme", `p${index}`, archive)))
  const start = performance.now()
  const honest = await waitForEnd("other", await upload("other", "honest", makePageArchive("honest")))
  const honestMs = performance.now() - start
  const results = await Promise.all(statusPaths.map((statusPath) => waitForEnd("acme", statusPath)))
  const rejectedMs = performance.now() - start
  const { times, peak } = await stopMonitor()

  for (const [index, { reason }] of archives.entries()) {
    expect(results[index].status).toBe("ERROR")
    expect(results[index].buildResult.error).toMatch(reason)
    expect(results[index].buildResult.log.join()).not.toContain("Taken over")
  }
  expect(honest.status).toBe("SUCCESS")
  await expect.poll(() => readdirSync(join(folder, "sites", "staging")), { timeout: 30_000 }).toEqual([])
  expect(server.exitCode).toBe(null)

  const p99 = percentile99(times)
  console.log(
    `20 hostile archives: all rejected within ${(rejectedMs / 1000).toFixed(1)} s; ${times.length} requests of /healthz: ` +
      `p99 ${p99.toFixed(0)} ms (${quietP99.toFixed(0)} ms before), max ${Math.max(...times).toFixed(0)} ms; memory ${idleMiB.toFixed(0)} MiB idle, ` +
      `+${(peak - idleMiB).toFixed(0)} MiB at the peak; another account's upload deployed in ${(honestMs / 1000).toFixed(1)} s`
  )
  // A machine that other processes keep busy delays the requests of the quiet server too.
  expect(p99).toBeLessThan(Math.max(quietP99 + 250, 5 * quietP99))
  expect(peak - idleMiB).toBeLessThan(150)
  expect(honestMs).toBeLessThan(30_000)
}, 300_000)
