/**
 * Every hostile archive, uploaded to a real server: refused with its reason, with nothing left behind, while the event
 * loop of the server stays free.
 */
import { readdirSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hostileArchives } from "./hostileArchives.ts"
import { type House, openHouse } from "./house.ts"

let house: House
beforeAll(async () => {
  house = await openHouse(MemoryStore.open())
})
afterAll(() => house.close())

describe("an upload", () => {
  // A stall of the machine does not repeat; one that an archive causes does.
  it.each(hostileArchives)(
    "of $name is refused, and leaves nothing behind",
    { timeout: 120_000, retry: 2 },
    async ({ make, reason }) => {
      const archive = make()
      const delay = monitorEventLoopDelay({ resolution: 10 })
      delay.enable()
      const { status, steps, buildResult, url } = await house.deploy("hostile", archive)
      delay.disable()
      expect({ status, unpack: steps.unpack.status }).toEqual({ status: "ERROR", unpack: "failed" })
      expect(steps.unpack.message).toMatch(reason)
      expect(buildResult.error).toBe(steps.unpack.message)
      expect((await house.call("GET", `/v1/deployments/${url.split("/").at(-2)}`)).body.message).toBe("source-rejected")
      await expect.poll(() => house.onDisk(), { timeout: 60_000 }).toMatchObject({ staging: [], releases: [] })
      expect(readdirSync(house.folder).sort()).toEqual(["sources", "staging"])
      expect(delay.max / 1e6).toBeLessThan(250)
    }
  )
})
