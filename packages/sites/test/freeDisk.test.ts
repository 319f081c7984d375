import { MemoryStore } from "@tollgate/memory"
import { expect, it } from "vitest"
import { makePageArchive } from "./archives.ts"
import { startTestServer } from "./testServer.ts"

it("refuses uploads below the reserve of free disk, and leaves nothing behind", async () => {
  const server = await startTestServer(MemoryStore.open(), { freeDiskReserveMebibytes: 2 ** 40 })
  const { uploadUrl } = await server.createSource("shop")
  const response = await server.put(uploadUrl, makePageArchive("x"))
  expect(response).toMatchObject({ status: 507, body: { code: "insufficient-storage" } })
  expect(server.onDisk().sources).toEqual([])
  await server.close()
})
