/**
 * Every hostile archive, uploaded to a real server: refused with its reason, with nothing left behind, while the event
 * loop of the server stays free.
 */
import { readdirSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pageOf } from "./archives.ts"
import { hostileArchives } from "./hostileArchives.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(MemoryStore.open())
})
afterAll(() => server.close())

describe("an upload", () => {
  // A stall of the machine does not repeat; one that an archive causes does.
  it.each(hostileArchives)(
    "of $name is refused, and leaves nothing behind",
    { timeout: 120_000, retry: 2 },
    async ({ make, reason }) => {
      const archive = make()
      const delay = monitorEventLoopDelay({ resolution: 10 })
      delay.enable()
      const { status, steps, buildResult, url } = await server.deploy("hostile", archive)
      delay.disable()
      expect({ status, unpack: steps.unpack.status }).toEqual({ status: "ERROR", unpack: "failed" })
      expect(steps.unpack.message).toMatch(reason)
      expect(buildResult.error).toBe(steps.unpack.message)
      expect((await server.call("GET", `/v1/deployments/${url.split("/").at(-2)}`)).body.message).toBe(
        "source-rejected"
      )
      await expect.poll(() => server.onDisk(), { timeout: 60_000 }).toMatchObject({ staging: [], releases: [] })
      expect(readdirSync(server.folder).sort()).toEqual(["sources", "staging"])
      expect(delay.max / 1e6).toBeLessThan(250)
    }
  )

  it.each([
    ["time", { timeoutMs: 1 }, /it takes longer than the 1 ms allowed/],
    ["memory", { memoryMb: 4 }, /it takes more than the 4 MiB of memory allowed/]
  ])(
    "that takes more %s than it may fails its run at once",
    async (_, limits, reason) => {
      const other = await startTestServer(MemoryStore.open(), { limits })
      try {
        const links = Array.from({ length: 15_000 }, (_, index) => ({ name: `${"n".repeat(90)}${index}`, type: "2" }))
        const { status, steps, buildResult } = await other.deploy("p", pageOf("x", ...links))
        expect(status).toBe("ERROR")
        expect(steps.unpack.message).toMatch(reason)
        expect(buildResult.log).toEqual([expect.stringMatching(/^Received/), steps.unpack.message])
        await expect.poll(() => other.onDisk(), { timeout: 10_000 }).toMatchObject({ staging: [], releases: [] })
      } finally {
        await other.close()
      }
    },
    30_000
  )
})
