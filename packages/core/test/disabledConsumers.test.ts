/**
 * A disabled consumer: none of its keys passes, at once and in every process, until it is enabled again.
 */
import { describe, expect, it } from "vitest"
import { freshAccount, omitVersion, openGate, readLog, useGate } from "./eventGates.ts"
import { stores } from "./stores.ts"

describe.each(stores)("a disabled consumer, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async (accountName = freshAccount()) => {
    const production = gate().account(accountName).keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice", apiKeys: [{}, { scopes: ["a"] }] })
    const [first = "", second = ""] = (apiKeys ?? []).map(({ key }) => key)
    return { accountName, production, first, second }
  }

  it("has no valid key until it is enabled again", async () => {
    const { production, first, second } = await open()
    await production.consumers.update("alice", { disabled: true })
    for (const key of [first, second]) {
      expect(await production.verify(key)).toEqual({ valid: false, reason: "invalid" })
      expect(await production.authorize(key)).toEqual({ allowed: false, reason: "disabled-consumer" })
    }
    const { key } = await production.keys.create("alice")
    expect(await production.authorize(key)).toEqual({ allowed: false, reason: "disabled-consumer" })
    for (const disabled of [false, null]) {
      expect(await production.consumers.update("alice", { disabled })).not.toHaveProperty("disabled")
      expect((await production.authorize(second, { scopes: ["a"] })).allowed).toBe(true)
      expect((await production.consumers.update("alice", { disabled: true })).disabled).toBe(true)
      expect((await production.authorize(second, { scopes: ["a"] })).allowed).toBe(false)
    }
  })

  it("is the reason before what is wrong with the key; without its consumer, a key is unknown", async () => {
    const { production } = await open()
    const { key, id } = await production.keys.create("alice", { disabled: true })
    expect(await production.authorize(key)).toEqual({ allowed: false, reason: "disabled-key" })
    await production.keys.update("alice", id, { disabled: false, expiresOn: "2020-01-01T00:00:00Z" })
    expect(await production.authorize(key)).toEqual({ allowed: false, reason: "expired-key" })
    await production.consumers.update("alice", { disabled: true })
    expect(await production.authorize(key)).toEqual({ allowed: false, reason: "disabled-consumer" })
    await production.consumers.remove("alice")
    await production.consumers.create({ name: "alice", disabled: true })
    expect(await production.authorize(key)).toEqual({ allowed: false, reason: "unknown-key" })
  })

  it("counts nothing and is not a use of the key", async () => {
    const { production, first } = await open()
    await production.consumers.update("alice", { disabled: true })
    const options = { rateLimit: { limit: 1, per: "day" } } as const
    for (let count = 0; count < 3; count++) expect((await production.authorize(first, options)).allowed).toBe(false)
    await production.consumers.update("alice", { disabled: null })
    expect((await production.authorize(first, options)).allowed).toBe(true)
  })

  it("is created and listed as such, and its events say so", async () => {
    const { accountName, production } = await open()
    const bob = await production.consumers.create({ name: "bob", disabled: true }, { withApiKey: true })
    expect(bob.disabled).toBe(true)
    expect((await production.verify(bob.apiKeys[0].key)).valid).toBe(false)
    const carol = await production.consumers.create({ name: "carol", disabled: false })
    expect(carol).not.toHaveProperty("disabled")
    const alice = await production.consumers.update("alice", { disabled: true })
    const { data } = await production.consumers.list()
    expect(data.map(({ name, disabled }) => [name, disabled])).toEqual([
      ["alice", true],
      ["bob", true],
      ["carol", undefined]
    ])
    const events = (await readLog(store(), gate(), accountName)).filter(({ subject }) => subject.type === "consumer")
    expect(events.map(({ type, data }) => [type, data["disabled"]])).toEqual([
      ["consumer.created", undefined],
      ["consumer.created", true],
      ["consumer.created", undefined],
      ["consumer.updated", true]
    ])
    expect(events.at(-1)?.data).toEqual({ ...omitVersion(alice), consumerName: "alice", keyBucketName: "production" })
  })

  it("is seen at once by another process", async () => {
    const { accountName, production, first } = await open()
    const other = await openGate(store())
    const { authorize } = other.account(accountName).keyBucket("production")
    for (const disabled of [true, false, true]) {
      await production.consumers.update("alice", { disabled })
      expect((await authorize(first)).allowed).toBe(!disabled)
    }
    await other.close()
  })

  it("is seen at once by the process that changed it, also with a verify cache", async () => {
    const cached = await openGate(store(), { verifyCache: { ttl: 600_000 } })
    const production = cached.account(freshAccount()).keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    const [{ key }] = apiKeys
    expect((await production.verify(key)).valid).toBe(true)
    await production.consumers.update("alice", { disabled: true })
    expect((await production.verify(key)).valid).toBe(false)
    await production.consumers.update("alice", { disabled: false })
    expect((await production.verify(key)).valid).toBe(true)
    await cached.close()
  })
})
