/**
 * Tollgate as a function from `Request` to `Response`, with a store in memory. It runs on any platform that supports
 * the Fetch API.
 */
import { createTollgate, type Tollgate } from "tollgate"
import { MemoryStore } from "tollgate/memory"

export interface Example {
  readonly gate: Tollgate
  readonly fetch: (request: Request) => Promise<Response>
}

export const start = async (secret: string, token: string): Promise<Example> => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: [{ token, account: "acme" }] })
  const production = gate.account("acme").keyBucket("production")
  return {
    gate,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname !== "/hello") return gate.handler(request)
      const key = request.headers.get("x-api-key") ?? ""
      const result = await production.authorize(key)
      return result.allowed
        ? Response.json({ hello: result.consumer.name })
        : Response.json({ reason: result.reason }, { status: 401 })
    }
  }
}
