/**
 * The ids of management tokens, which tenants see as the actors of events.
 */
import { createHash, getHashes } from "node:crypto"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { expect, it, onTestFinished } from "vitest"
import { grants, secret, tokens } from "../stores.ts"
import { makeClient } from "./client.ts"

const otherSecret = "another-secret-of-32-characters-or-more"

const open = async (secrets: string | readonly [string, string], store = MemoryStore.open()) => {
  const gate = await createTollgate({ store, secret: secrets, tokens: grants })
  onTestFinished(() => gate.close())
  return makeClient(gate.handler)
}

const readId = async (call: Awaited<ReturnType<typeof open>>): Promise<string> =>
  (await call("GET", "/v1/me", { token: tokens.admin })).body.id

it("do not let a tenant check guesses of the operator's token", async () => {
  const call = await open(secret)
  const asOperator = { token: tokens.admin, body: { name: "alice" } }
  await call("POST", "/v1/accounts/acme/key-buckets/production/consumers", asOperator)
  const id = await eventually(async () => {
    const { body } = await call("GET", "/v1/accounts/acme/events", { token: tokens.reader })
    expect(body.data).toHaveLength(1)
    return body.data[0].actor.id as string
  })
  expect(id).toMatch(/^[\w-]{16}$/)
  expect(await readId(call)).toBe(id)
  // What can be computed from the right guess alone.
  for (const algorithm of getHashes()) {
    for (const encoding of ["base64url", "hex"] as const) {
      let digest = ""
      try {
        digest = createHash(algorithm).update(tokens.admin).digest(encoding)
      } catch {
        // Not every algorithm of OpenSSL can be used like this.
      }
      expect(digest.slice(0, id.length), algorithm).not.toBe(id)
    }
  }
})

it("are the same in all processes, and others under another secret", async () => {
  const [first, second, other] = [await open(secret), await open(secret), await open(otherSecret)]
  expect(await readId(second)).toBe(await readId(first))
  expect(await readId(other)).not.toBe(await readId(first))
})

it("change when another secret becomes the primary one, and a repeated request is found all the same", async () => {
  const store = MemoryStore.open()
  const [before, after] = [await open([secret, otherSecret], store), await open([otherSecret, secret], store)]
  expect(await readId(after)).not.toBe(await readId(before))
  const request = { token: tokens.admin, body: { name: "alice" }, headers: { "idempotency-key": "once" } }
  const path = "/v1/accounts/acme/key-buckets/production/consumers"
  const created = await before("POST", path, request)
  expect(await after("POST", path, request)).toMatchObject({ status: 200, body: created.body })
})
