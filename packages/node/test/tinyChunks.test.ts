/**
 * Bodies that are sent one byte at a time: they take no more memory than others of their size.
 */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { measureHeapAfterGc } from "@tollgate/testing"
import { expect, it, onTestFinished } from "vitest"

const token = "a-token-of-the-hostile-tenant"
const path = "/v1/accounts/acme/key-buckets/production/consumers"
const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ntransfer-encoding: chunked\r\n\r\n`

const listen = async (): Promise<Server> => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "a secret of at least thirty-two characters",
    tokens: [{ token, account: "acme" }]
  })
  const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await gate.close()
  })
  return server
}

/** Connects, and returns both ends of the connection. */
const open = async (server: Server): Promise<{ readonly client: Socket; readonly accepted: Socket }> => {
  const connected = once(server, "connection")
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1")
  const [accepted] = await connected
  return { client, accepted }
}

/** As many chunks of one byte as there are characters. */
const toTinyChunks = (text: string): string => Array.from(text, (character) => `1\r\n${character}\r\n`).join("")

it("a body in chunks of one byte takes little more memory than its bytes", async () => {
  const server = await listen()
  const { client, accepted } = await open(server)
  const before = measureHeapAfterGc()
  const sent = head + toTinyChunks(" ".repeat(300_000))
  client.write(sent)
  await expect.poll(() => accepted.bytesRead, { timeout: 60_000 }).toBe(sent.length)
  // It was 60 MB when each chunk was kept.
  expect(measureHeapAfterGc() - before).toBeLessThan(10_000_000)
  client.write(`${toTinyChunks('{"name":"alice"}')}0\r\n\r\n`)
  const [response] = await once(client, "data")
  expect(String(response)).toContain("HTTP/1.1 200 OK")
  expect(String(response)).toContain('"name":"alice"')
}, 120_000)
