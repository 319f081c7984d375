/**
 * Replays of requests with an Idempotency-Key whose result is gone by then.
 */
import { describe, expect, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { grants, secret } from "../stores.ts"
import { makeClient } from "./client.ts"

const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })
const call = makeClient(gate.handler)

describe("a replayed request", () => {
  it("has the ETag of the first response, also when the metering bucket is gone", async () => {
    const create = { body: {}, headers: { "idempotency-key": "create-1" } }
    const first = await call("POST", "/v1/metering", create)
    const etag = first.headers.get("etag")
    expect((await call("POST", "/v1/metering", create)).headers.get("etag")).toBe(etag)
    expect((await call("DELETE", `/v1/metering/${first.body.id}`)).status).toBe(204)
    const replayed = await call("POST", "/v1/metering", create)
    expect(replayed).toMatchObject({ status: 200, body: first.body })
    expect(replayed.headers.get("etag")).toBe(etag)
  })
})
