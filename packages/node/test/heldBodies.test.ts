/**
 * A tenant that sends many large bodies, and ends none of them: they take a bounded part of the memory, and nobody else waits.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { expect, it, onTestFinished } from "vitest"

const hostile = "a-token-of-the-hostile-tenant"
const honest = "a-token-of-the-honest-tenant"
const mebibyte = 1024 * 1024
const maxRunning = 32
const maxWaiting = 256

it("an account has 32 MiB of bodies at once, and of 400 that it holds back the last ones are refused", async () => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "a secret of at least thirty-two characters",
    tokens: [
      { token: hostile, account: "hostile" },
      { token: honest, account: "honest" }
    ]
  })
  const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
  const accepted = new Set<Socket>()
  server.on("connection", (socket) => accepted.add(socket))
  await once(server, "listening")
  const clients: Array<Socket> = []
  onTestFinished(async () => {
    for (const client of clients) client.destroy()
    server.closeAllConnections()
    server.close()
    await gate.close()
  })
  const { port } = server.address() as AddressInfo
  const url = (account: string) => `/v1/accounts/${account}/key-buckets/production/consumers`
  const rest = Buffer.alloc(mebibyte - 1, " ")
  const head = `POST ${url("hostile")} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${hostile}\r\ncontent-length: ${mebibyte}\r\n\r\n`
  const responses: Array<string> = []
  for (let count = 0; count < 400; count++) {
    const client = connect(port, "127.0.0.1")
    clients.push(client)
    client.on("error", () => undefined)
    client.on("data", (data) => responses.push(String(data)))
    client.write(head)
    client.write(rest)
  }
  const refused = () => responses.filter((response) => response.startsWith("HTTP/1.1 503 ")).length
  await expect.poll(refused, { timeout: 60_000 }).toBe(400 - maxRunning - maxWaiting)
  // Another account sends as much, and waits for nobody.
  const body = JSON.stringify({ name: "alice" }).padEnd(mebibyte - 1)
  const response = await fetch(`http://127.0.0.1:${port}${url("honest")}`, {
    method: "POST",
    headers: { authorization: `Bearer ${honest}` },
    body
  })
  expect(response.status).toBe(200)
  // Of those that wait, Node reads only what it reads before it stops reading a connection.
  const held = [...accepted].filter(({ bytesWritten }) => bytesWritten === 0)
  expect(held).toHaveLength(maxRunning + maxWaiting)
  const read = held.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  expect(read).toBeLessThan((maxRunning + 1) * mebibyte + maxWaiting * 256 * 1024)
  expect(refused()).toBe(400 - maxRunning - maxWaiting)
}, 120_000)
