/**
 * Tollgate where there is nothing but Fetch: a function from a request to an answer, over a store in memory. It runs in
 * anything that speaks Request and Response.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"

export interface Example {
  readonly gate: Tollgate
  readonly fetch: (request: Request) => Promise<Response>
}

export const start = async (secret: string, token: string): Promise<Example> => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: [{ token, account: "acme" }] })
  return {
    gate,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname !== "/hello") return gate.handler(request)
      const key = request.headers.get("x-api-key") ?? ""
      const answer = await gate.authorize({ account: "acme", bucket: "production", key })
      return answer.allowed
        ? Response.json({ hello: answer.consumer.name })
        : Response.json({ reason: answer.reason }, { status: 401 })
    }
  }
}
