/**
 * Interrupts an upload at every 64 KiB, by ending the connection and by resetting it, on every store. Tollgate keeps
 * nothing of it, and the upload URL still works.
 */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readdirSync, statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { makePageArchive } from "../../sites/test/archives.ts"
import { startTestServer, type TestServer } from "../../sites/test/testServer.ts"
import { setUpStore, stores } from "./stores.ts"

const chunkSize = 64 * 1024
// Random bytes cannot be compressed, so the archive is larger than 1 MiB.
const archive = makePageArchive("whole", { name: "noise", content: randomBytes(1024 * 1024) })

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(makeEmptyStore())
  })
  afterAll(() => server.close())

  it("an interrupted upload leaves no file, and its URL still works", async () => {
    const { uploadUrl, id } = await server.createSource("p")
    const { hostname, port, pathname, search } = new URL(uploadUrl)
    const statusPath = `/v1/accounts/acme/projects/p/deployment-status/${id}`
    const folder = join(server.folder, "sources")
    const countBytesOnDisk = () =>
      server
        .onDisk()
        .sources.reduce(
          (total, file) => total + (statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0),
          0
        )
    const startUpload = (sent: number) => {
      const socket = connect(Number(port), hostname)
        .on("error", () => undefined)
        .on("data", () => undefined)
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: ${archive.length}\r\n\r\n`)
      socket.write(archive.subarray(0, sent))
      return socket
    }
    let [interruptions, kept] = [0, 0]
    for (let sent = 0; sent < archive.length; sent += chunkSize) {
      for (const isReset of [true, false]) {
        let socket = startUpload(sent)
        // The server responds with 409 until it has released the lease of the previous upload.
        await vi.waitFor(
          () => {
            if (socket.bytesRead > 0) {
              socket.destroy()
              socket = startUpload(sent)
            }
            // Wait until all bytes are on disk, so that the server, and not the network, discards them.
            expect(countBytesOnDisk()).toBe(sent)
          },
          { timeout: 30_000, interval: 5 }
        )
        const closed = once(socket, "close")
        if (isReset) socket.resetAndDestroy()
        else socket.end()
        await closed
        await vi.waitFor(() => expect(server.onDisk().sources).toEqual([]), { timeout: 30_000, interval: 5 })
        interruptions++
        if ((await server.call("GET", statusPath)).status !== 404) kept++
      }
    }
    expect(kept).toBe(0)
    expect(readdirSync(folder)).toEqual([])
    expect((await server.put(uploadUrl, archive)).status).toBe(200)
    const finalStatus = await server.waitForEnd("p", id)
    expect(finalStatus.status).toBe("SUCCESS")
    expect((await server.call("GET", finalStatus.url)).body).toBe("whole")
    console.log(
      `uploads, ${name}: interrupted ${interruptions} times, at every 64 KiB; ${kept} kept; the URL worked afterwards`
    )
  }, 120_000)
})
