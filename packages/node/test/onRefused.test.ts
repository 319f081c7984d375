/**
 * `onRefused` of protected routes changes body and headers of a refusal in every framework, and never its status.
 */
import { ConfigurationError, createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import type { RequireApiKeyOptions } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { frameworks, type ProtectedRoute } from "./protectingFrameworks.ts"

let gate: Tollgate
let production: LocalKeyBucketHandle
let key: string
const errors: Array<string> = []
const ignore = () => undefined

beforeAll(async () => {
  const logger = { debug: ignore, info: ignore, warn: ignore, error: (message: string) => void errors.push(message) }
  gate = await createTollgate({ store: MemoryStore.open(), secret: "test-secret-with-at-least-32-characters", logger })
  production = gate.account("acme").keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  key = apiKeys[0].key ?? ""
})
afterAll(() => gate.close())

describe.each(frameworks)("onRefused in $name", ({ serve, requireApiKey }) => {
  const routes: Array<ProtectedRoute> = []
  afterEach(() => Promise.all(routes.splice(0).map(({ close }) => close())))
  const call = async (options: RequireApiKeyOptions) => {
    const route = await serve(production, options, ignore)
    routes.push(route)
    return route.call("", { authorization: `Bearer ${key}`, "x-request-id": "of-the-customer" })
  }

  it("gets the decision and the request, and changes body and headers", async () => {
    const seen: Array<unknown> = []
    const response = await call({
      scopes: ["a", "b"],
      onRefused: async (decision, request) => {
        seen.push(decision, typeof request)
        return { body: { error: decision.reason, status: 200 }, headers: { "X-Docs": "https://example.com/keys" } }
      }
    })
    expect([response.status, await response.json()]).toEqual([403, { error: "missing-scope", status: 200 }])
    expect(response.headers.get("x-docs")).toBe("https://example.com/keys")
    expect(response.headers.get("x-request-id")).toBe("of-the-customer")
    expect(response.headers.get("content-type")).toMatch(/^application\/json/)
    expect(seen).toMatchObject([{ allowed: false, scopes: ["a", "b"], consumer: { name: "alice" } }, "object"])
  })

  it("leaves the response as it is if it returns nothing, fails, or returns what cannot be sent", async () => {
    const cases: ReadonlyArray<[() => unknown, boolean]> = [
      [() => undefined, false],
      [() => ({}), false],
      [
        () => {
          throw new Error("mistake")
        },
        true
      ],
      [() => ({ body: 1n }), true],
      [() => ({ headers: { "not a name": "x" } }), true],
      [() => ({ headers: { name: "two\r\nlines: x" } }), true]
    ]
    for (const [onRefused, isLogged] of cases) {
      errors.length = 0
      const response = await call({ scopes: ["a"], onRefused } as RequireApiKeyOptions)
      expect([response.status, await response.json()]).toMatchObject([403, { code: "missing-scope" }])
      expect(errors.length).toBe(isLogged ? 1 : 0)
    }
    const passed = await call({
      onRefused: () => {
        throw new Error("not for requests that pass")
      }
    })
    expect(passed.status).toBe(200)
    const invalid = { onRefused: true } as unknown as RequireApiKeyOptions
    expect(() => requireApiKey(production, invalid)).toThrow(ConfigurationError)
  })
})
