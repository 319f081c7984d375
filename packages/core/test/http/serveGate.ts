import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Tollgate } from "@tollgate/core"
import { toNodeHandler } from "@tollgate/node"

/** Serves the HTTP API of a gate on a free port. */
export const serveGate = async (gate: Tollgate) => {
  const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  }
  return { url: `http://127.0.0.1:${port}`, close }
}
