import { once } from "node:events"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

/** Listens on a free port, so that the URL is known before the server has handlers. */
export const listen = async (server: Server): Promise<{ readonly url: string; readonly stop: () => void }> => {
  await once(server.listen(0, "127.0.0.1"), "listening")
  const stop = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop }
}
