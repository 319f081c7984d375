/**
 * Uploads each hostile archive to a real server. The server rejects it with a reason, removes its files, and keeps its
 * event loop responsive.
 */
import { randomBytes } from "node:crypto"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makePageArchive } from "./archives.ts"
import { hostileArchives, makeBomb } from "./hostileArchives.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(MemoryStore.open())
})
afterAll(() => server.close())

/** The size on the disk of all files below a folder. */
const measureDisk = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.blocks ?? 0)
    .reduce((sum, blocks) => sum + 512 * blocks, 0)

describe("a hostile upload", () => {
  it("occupies no more than what was sent, also while it is unpacked", async () => {
    const other = await startTestServer(MemoryStore.open())
    const bomb = makeBomb()
    let mostBytes = 0
    const measure = setInterval(() => {
      mostBytes = Math.max(mostBytes, measureDisk(other.folder))
    }, 10)
    try {
      const uploads = Array.from({ length: 4 }, (_, index) => other.deploy(`bomb${index}`, bomb))
      for (const { status } of await Promise.all(uploads)) expect(status).toBe("ERROR")
      // The sources are kept, so that they can be deployed again. The rest is folders.
      expect(Math.max(mostBytes, measureDisk(other.folder))).toBeLessThan(4 * bomb.length + 200_000)
    } finally {
      clearInterval(measure)
      await other.close()
    }
  })

  it("is refused when the account holds its maximum, and fits again after a removal", async () => {
    const MiB = 1024 * 1024
    const other = await startTestServer(MemoryStore.open(), { accountLimits: { deploymentBytesPerAccount: 5 * MiB } })
    const archive = makePageArchive("x", { name: "random", content: randomBytes(MiB) })
    try {
      const responses = await Promise.all(
        Array.from({ length: 12 }, async (_, index) => {
          const { uploadUrl, id } = await other.createSource("full", `b${index}`)
          const { status, body } = await other.put(uploadUrl, archive)
          return status === 200 ? { status, run: (await other.waitForEnd("full", id)).status } : { status, body }
        })
      )
      const refused = responses.filter(({ status }) => status !== 200)
      expect(refused.length).toBeGreaterThan(0)
      for (const { status, body } of refused) {
        expect({ status, body }).toMatchObject({ status: 409, body: { limit: "deploymentBytesPerAccount" } })
      }
      // Folders and manifests do not count.
      await expect.poll(() => measureDisk(other.folder), { timeout: 60_000 }).toBeLessThan(5 * MiB + 200_000)
      const { body } = await other.call("GET", "/v1/accounts/acme/projects/full/deployments")
      for (const { name } of body.data) expect((await other.call("DELETE", `/v1/deployments/${name}`)).status).toBe(204)
      await expect.poll(() => measureDisk(other.folder), { timeout: 60_000 }).toBeLessThan(200_000)
      expect((await other.deploy("full", archive)).status).toBe("SUCCESS")
    } finally {
      await other.close()
    }
  })

  // Retries, since a delay of the machine does not repeat; one that the archive causes does.
  it.each(hostileArchives)("is rejected and removed: $name", { retry: 2 }, async ({ make, reason }) => {
    const archive = make()
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    const startedAt = performance.now()
    const { status, steps, buildResult, url } = await server.deploy("hostile", archive)
    delay.disable()
    const elapsed = performance.now() - startedAt
    expect({ status, unpack: steps.unpack.status }).toEqual({ status: "ERROR", unpack: "failed" })
    expect(steps.unpack.message).toMatch(reason)
    expect(buildResult.error).toBe(steps.unpack.message)
    expect((await server.call("GET", `/v1/deployments/${url.split("/").at(-2)}`)).body.message).toBe("source-rejected")
    await expect.poll(() => server.onDisk(), { timeout: 60_000 }).toMatchObject({ staging: [], releases: [] })
    expect(readdirSync(server.folder).sort()).toEqual(["sources", "staging"])
    // On a busy machine both take longer. Work on the event loop would hold it for most of the time.
    expect(delay.max / 1e6).toBeLessThan(Math.max(250, elapsed / 2))
  })

  it.each([
    ["time", { timeoutMs: 1 }, /takes longer than the limit of 1 ms/],
    ["memory", { memoryMb: 4 }, /takes more than the limit of 4 MiB of memory/]
  ])("fails its run when it exceeds the limit of %s", async (_, limits, reason) => {
    const other = await startTestServer(MemoryStore.open(), { limits })
    try {
      const links = Array.from({ length: 15_000 }, (_, index) => ({ name: `${"n".repeat(90)}${index}`, type: "2" }))
      const { status, steps, buildResult } = await other.deploy("p", makePageArchive("x", ...links))
      expect(status).toBe("ERROR")
      expect(steps.unpack.message).toMatch(reason)
      expect(buildResult.log).toEqual([expect.stringMatching(/^Received/), steps.unpack.message])
      await expect.poll(() => other.onDisk()).toMatchObject({ staging: [], releases: [] })
    } finally {
      await other.close()
    }
  })
})
