import { expect, it } from "vitest"
import { start } from "../src/server.ts"

it("serves the HTTP API, and a route that requires an API key", async () => {
  const token = "a-management-token-for-acme"
  const { gate, fetch } = await start("test-secret-with-at-least-32-characters", token)
  const response = await fetch(
    new Request("http://example/v1/accounts/acme/key-buckets/production/consumers?with-api-key=true", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "alice" })
    })
  )
  const { apiKeys } = (await response.json()) as { readonly apiKeys: ReadonlyArray<{ readonly key: string }> }
  const hello = (key: string) => fetch(new Request("http://example/hello", { headers: { "x-api-key": key } }))
  expect(await (await hello(apiKeys[0]?.key ?? "")).json()).toEqual({ hello: "alice" })
  expect((await hello("unknown-key")).status).toBe(401)
  await gate.close()
})
