/**
 * The comparison with Effect's builder, which every HTTP test runs, finds differences.
 */
import { describe, expect, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { grants, secret, tokens } from "../stores.ts"
import { compareWithEffect } from "./differential.ts"

const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })

const exchange = async (method: string, path: string, body?: object) => {
  const requestBody = body === undefined ? "" : JSON.stringify(body)
  const response = await gate.handler(
    new Request(`http://gate${path}`, {
      method,
      headers: { authorization: `Bearer ${tokens.writer}` },
      ...(body === undefined ? {} : { body: requestBody })
    })
  )
  const { status, headers: responseHeaders } = response
  return { method, path, headers: {}, requestBody, status, responseHeaders, responseBody: await response.text() }
}

const consumers = "/v1/accounts/acme/key-buckets/differential/consumers"

describe("the comparison with Effect's builder", () => {
  it("accepts a response that both give", async () => {
    const created = await exchange("POST", consumers, { name: "alice" })
    expect(created.status).toBe(200)
    expect(await compareWithEffect(created)).toBeUndefined()
    expect(await compareWithEffect(await exchange("GET", `${consumers}/nobody`))).toBeUndefined()
    expect(await compareWithEffect(await exchange("GET", `${consumers}?limit=x`))).toBeUndefined()
  })

  it("finds another status, another body, and a request that only one of them accepts", async () => {
    const found = await exchange("GET", `${consumers}/alice`)
    expect(await compareWithEffect({ ...found, status: 201 })).toBeDefined()
    expect(
      await compareWithEffect({ ...found, responseBody: found.responseBody.replace("{", '{"extra":1,') })
    ).toBeDefined()
    expect(await compareWithEffect({ ...found, path: `${consumers}/alice?key-format=x` })).toBeDefined()
    const rejected = await exchange("GET", `${consumers}?limit=x`)
    expect(await compareWithEffect({ ...rejected, path: `${consumers}?limit=1` })).toBeDefined()
  })
})
