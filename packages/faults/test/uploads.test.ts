/**
 * An upload that breaks off, at every 64 KiB of it, by a connection that ends and by one that is torn down, on every
 * store: nothing of it is kept, and its address still works.
 */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readdirSync, statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { pageOf } from "../../sites/test/archives.ts"
import { startTestServer, type TestServer } from "../../sites/test/testServer.ts"
import { openedFor, stores } from "./stores.ts"

const piece = 64 * 1024
// What cannot be compressed arrives in many pieces.
const archive = pageOf("whole", { name: "noise", content: randomBytes(1024 * 1024) })

describe.each(stores)("on %s", (name, layer) => {
  const emptyStore = openedFor(layer)
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(emptyStore())
  })
  afterAll(() => server.close())

  it("leaves nothing, and its address good", async () => {
    const { uploadUrl, id } = await server.source("p")
    const { hostname, port, pathname, search } = new URL(uploadUrl)
    const status = `/v1/accounts/acme/projects/p/deployment-status/${id}`
    const folder = join(server.folder, "sources")
    const arrived = () =>
      server
        .onDisk()
        .sources.reduce(
          (total, file) => total + (statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0),
          0
        )
    const begin = (sent: number) => {
      const socket = connect(Number(port), hostname)
        .on("error", () => undefined)
        .on("data", () => undefined)
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: ${archive.length}\r\n\r\n`)
      socket.write(archive.subarray(0, sent))
      return socket
    }
    let [cuts, kept] = [0, 0]
    for (let sent = 0; sent < archive.length; sent += piece) {
      for (const isTornDown of [true, false]) {
        let socket = begin(sent)
        // The server may still hold the lease of the upload that was cut off before: it refuses (409) until it is released.
        await vi.waitFor(
          () => {
            if (socket.bytesRead > 0) {
              socket.destroy()
              socket = begin(sent)
            }
            // All bytes are on disk before the connection is cut, so that the network cannot be what loses them.
            expect(arrived()).toBe(sent)
          },
          { timeout: 30_000, interval: 5 }
        )
        const closed = once(socket, "close")
        if (isTornDown) socket.resetAndDestroy()
        else socket.end()
        await closed
        await vi.waitFor(() => expect(server.onDisk().sources).toEqual([]), { timeout: 30_000, interval: 5 })
        cuts++
        if ((await server.call("GET", status)).status !== 404) kept++
      }
    }
    expect(kept).toBe(0)
    expect(readdirSync(folder)).toEqual([])
    expect((await server.put(uploadUrl, archive)).status).toBe(200)
    const ended = await server.ended("p", id)
    expect(ended.status).toBe("SUCCESS")
    expect((await server.call("GET", ended.url)).body).toBe("whole")
    console.log(`uploads, ${name}: cut off ${cuts} times, at every 64 KiB; ${kept} kept; the address worked afterwards`)
  }, 120_000)
})
