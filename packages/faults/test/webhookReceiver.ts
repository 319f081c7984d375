import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Scope } from "effect"

/** Starts an endpoint that counts requests and remembers their event ids. Closing the scope stops it. */
export const startCountingReceiver = async (scope: Scope.Scope) => {
  const ids = new Set<string>()
  let requests = 0
  let onRequest = () => {}
  const server = createServer((request, response) => {
    requests++
    ids.add(String(request.headers["webhook-id"]))
    onRequest()
    request.resume()
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const close = Effect.sync(() => {
    server.close()
    server.closeAllConnections()
  })
  await Effect.runPromise(Scope.addFinalizer(scope, close))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ids,
    requests: () => requests,
    /** Waits for so many more requests. */
    awaitRequests: (count: number): Promise<void> => {
      const target = requests + count
      return new Promise((resolve) => {
        onRequest = () => {
          if (requests >= target) resolve()
        }
      })
    }
  }
}
