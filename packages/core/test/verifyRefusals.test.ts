/**
 * `$verify` says why a key is refused, and whose it is, to callers with `decisions:read`, and to no others.
 */
import { createClient } from "@tollgate/core/client"
import { describe, expect, it } from "vitest"
import { freshAccount, openGate, useGate } from "./eventGates.ts"
import { serveGate } from "./http/serveGate.ts"
import { stores } from "./stores.ts"

const tokens = [
  { token: "token-that-may-see-decisions", account: "*", permissions: ["authorize", "decisions:read"] },
  { token: "token-that-may-authorize-only", account: "*", permissions: ["authorize"] },
  { token: "token-of-a-viewer-of-everything", account: "*", access: "read" },
  { token: "token-of-support-and-authorize", account: "*", permissions: ["support", "authorize"] },
  { token: "token-that-may-write-everything", account: "*", access: "write" }
] as const

describe.each(stores)("$verify, on %s", (_, layer) => {
  const { store } = useGate(layer)

  it("names the refusal and the owner of a key only with decisions:read", async () => {
    const gate = await openGate(store(), { tokens })
    const { url, close } = await serveGate(gate)
    const accountName = freshAccount()
    const production = gate.account(accountName).keyBucket("production")
    const alice = await production.consumers.create({
      name: "alice",
      apiKeys: [{}, { disabled: true }, { expiresOn: "2001-01-01T00:00:00Z" }, { ipAllow: ["203.0.113.0/24"] }]
    })
    const bob = await production.consumers.create({ name: "bob", disabled: true, apiKeys: [{}] })
    const [valid, disabled, expired, fromElsewhere] = alice.apiKeys ?? []
    const [ofBob] = bob.apiKeys ?? []
    const removed = await production.keys.create("alice")
    await production.keys.remove("alice", removed.id)

    const post = async (token: string, key: string | undefined) => {
      const path = `/v1/accounts/${accountName}/key-buckets/production/$verify`
      const response = await fetch(url + path, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ key })
      })
      return [response.status, await response.text()] as const
    }
    const ofAlice = { consumerName: "alice", consumerId: alice.id }
    const cases = [
      [disabled?.key, { refusal: "disabled-key", keyId: disabled?.id, ...ofAlice }],
      [expired?.key, { refusal: "expired-key", keyId: expired?.id, ...ofAlice }],
      [ofBob?.key, { refusal: "disabled-consumer", keyId: ofBob?.id, consumerName: "bob", consumerId: bob.id }],
      [removed.key, { refusal: "unknown-key" }],
      ["unknown-but-well-formed", { refusal: "unknown-key" }],
      ["tg_malformed", { refusal: "malformed-key" }],
      ["", { refusal: "malformed-key" }]
    ] as const
    for (const [key, full] of cases) {
      for (const { token } of tokens) {
        const [status, text] = await post(token, key)
        const seesMore = !/only|viewer/.test(token)
        expect([status, seesMore && JSON.parse(text)]).toEqual([
          200,
          seesMore && { valid: false, reason: "invalid", ...full }
        ])
        if (!seesMore) expect(text).toBe('{"valid":false,"reason":"invalid"}')
      }
      expect(await production.verify(key)).toEqual({ valid: false, reason: "invalid" })
    }
    const [first, second] = tokens
    expect(JSON.parse((await post(first.token, fromElsewhere?.key))[1])).toEqual({
      valid: false,
      reason: "ip-not-allowed",
      keyId: fromElsewhere?.id,
      ...ofAlice
    })
    expect((await post(second.token, fromElsewhere?.key))[1]).toBe('{"valid":false,"reason":"ip-not-allowed"}')
    expect((await post(first.token, valid?.key))[1]).toBe((await post(second.token, valid?.key))[1])

    const client = createClient({ baseUrl: url, token: first.token }).account(accountName).keyBucket("production")
    expect(await client.verify(disabled?.key)).toMatchObject({ refusal: "disabled-key", consumerName: "alice" })
    await close()
    await gate.close()
  })

  it("says the same of a key that this process remembers", async () => {
    const gate = await openGate(store(), { tokens, verifyCache: { ttl: 600_000 } })
    const { url, close } = await serveGate(gate)
    const accountName = freshAccount()
    const { consumers, keys } = gate.account(accountName).keyBucket("production")
    const { id } = await consumers.create({ name: "alice" })
    const key = await keys.create("alice", { ipAllow: ["203.0.113.7"] })
    const [{ token }] = tokens
    const client = createClient({ baseUrl: url, token }).account(accountName).keyBucket("production")
    expect((await client.verify(key.key, { ip: "203.0.113.7" })).valid).toBe(true)
    expect(await client.verify(key.key)).toEqual({
      valid: false,
      reason: "ip-not-allowed",
      keyId: key.id,
      consumerName: "alice",
      consumerId: id
    })
    await close()
    await gate.close()
  })
})
