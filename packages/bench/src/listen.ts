import { createServer, type RequestListener } from "node:http"

/** Starts a server on a free port of this machine, and returns the port. */
export const listen = async (listener: RequestListener): Promise<number> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}
