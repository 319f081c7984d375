/**
 * Tests that clients that disconnect do not leak sockets, listeners, files or memory.
 */

import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import { deployments } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { sites } from "@tollgate/sites"
import { listOpenFiles, measureHeapAfterGc } from "@tollgate/testing"
import { expect, it } from "vitest"

it("leaks nothing after ten thousand requests whose clients disconnect", async () => {
  const token = "a-management-token-for-tests"
  const folder = mkdtempSync(join(tmpdir(), "tollgate-leaks-"))
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    tokens: [{ token, account: "acme" }],
    publicUrl: "http://gate",
    modules: [deployments(sites({ folder }))]
  })
  const { uploadUrl } = await gate.account("acme").project("p").deployments.createSource({ branchName: "b" })
  const upload = uploadUrl.replace("http://gate", "")
  const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const makeHead = (method: string, extraHeaders = "") =>
    `${method} /v1/accounts/acme/key-buckets/b/consumers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${extraHeaders}\r\n`

  /** Sends a partial or complete request, and disconnects before or right after the response. */
  const sendAndDisconnect = async (index: number): Promise<void> => {
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => undefined)
    await once(socket, "connect")
    const kind = index % 4
    if (kind === 0) socket.write(`${makeHead("POST", "Content-Length: 1000\r\n")}{"name":`)
    else if (kind === 3)
      socket.write(`PUT ${upload} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n${"x".repeat(5000)}`)
    else socket.write(makeHead("GET"))
    if (kind === 2) await once(socket, "data")
    const closed = once(socket, "close")
    socket.destroy()
    await closed
  }
  const sendRequests = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => sendAndDisconnect(sent + index)))
    }
  }
  const countConnections = (): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
  const waitForDisconnects = async (): Promise<void> => {
    while ((await countConnections()) > 0) await new Promise(setImmediate)
  }

  await sendRequests(2_000)
  await waitForDisconnects()
  const heapBefore = measureHeapAfterGc()
  await sendRequests(8_000)
  await waitForDisconnects()
  const heapAfter = measureHeapAfterGc()
  // A leak of 1 KiB per request would be 8 MiB.
  expect(heapAfter - heapBefore).toBeLessThan(4 * 1024 * 1024)
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  await expect.poll(() => listOpenFiles(folder), { timeout: 30_000 }).toEqual([])
  await expect.poll(() => readdirSync(join(folder, "sources")), { timeout: 30_000 }).toEqual([])
  server.close()
  server.closeAllConnections()
  await gate.close()
  rmSync(folder, { recursive: true, force: true })
}, 120_000)
