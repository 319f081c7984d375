import { expect, it } from "vitest"
import { start } from "../src/server.ts"

it("serves the interface, and a route of its own for those who have a key", async () => {
  const token = "a-management-token-for-acme"
  const { gate, fetch } = await start("a secret of the tests, and of nobody else", token)
  const made = await fetch(
    new Request("http://example/v1/accounts/acme/key-buckets/production/consumers?with-api-key=true", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "alice" })
    })
  )
  const { apiKeys } = (await made.json()) as { readonly apiKeys: ReadonlyArray<{ readonly key: string }> }
  const hello = (key: string) => fetch(new Request("http://example/hello", { headers: { "x-api-key": key } }))
  expect(await (await hello(apiKeys[0]?.key ?? "")).json()).toEqual({ hello: "alice" })
  expect((await hello("nonsense")).status).toBe(401)
  await gate.close()
})
