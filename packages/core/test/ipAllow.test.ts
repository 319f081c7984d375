/**
 * The addresses that a key may be used from: which ones match, and that nothing is counted from any other.
 */
import { hash } from "node:crypto"
import { type AuthorizeOptions, createTollgate, InvalidInput, type LocalKeyBucketHandle } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { describe, expect, it } from "vitest"
import { makeIsIpAllowed } from "../src/keys/ipAddresses.ts"
import { freshAccount, openGate, useGate } from "./eventGates.ts"
import { secret, stores } from "./stores.ts"

describe("isIpAllowed", () => {
  const isIpAllowed = makeIsIpAllowed()

  const cases: ReadonlyArray<readonly [entry: string, allowed: string, refused: string]> = [
    ["203.0.113.7", "203.0.113.7|::ffff:203.0.113.7|::ffff:cb00:7107|0:0:0:0:0:ffff:203.0.113.7", "203.0.113.8|::1"],
    ["203.0.113.0/24", "203.0.113.0|203.0.113.255|::FFFF:203.0.113.9", "203.0.112.255|203.0.114.0|::ffff:203.0.114.0"],
    ["203.0.113.128/25", "203.0.113.128", "203.0.113.127"],
    ["203.0.113.77/24", "203.0.113.1", "203.0.114.1"],
    ["0.0.0.0/0", "1.2.3.4|::ffff:1.2.3.4", "::1|2001:db8::1|::1.2.3.4"],
    ["2001:db8::/32", "2001:db8::1|2001:DB8:ffff::", "2001:db9::|2001:db7:ffff::|203.0.113.7"],
    ["2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"],
    ["2001:db8:0:0:0:0:0:1", "2001:db8::1", "2001:db8::2"],
    ["::/0", "::1|2001:db8::1|fe80::1%eth0", "1.2.3.4|::ffff:1.2.3.4"],
    ["::ffff:203.0.113.0/120", "203.0.113.7|::ffff:203.0.113.7", "203.0.114.7|::1"],
    ["fe80::/10", "fe80::1%eth0|fe80::1", "fec0::1%eth0"],
    ["127.0.0.1", "127.0.0.1", "|localhost|127.1|127.0.0.1:80|[::1]|127.0.0.1, 10.0.0.1| 127.0.0.1"]
  ]
  it.each(cases)("of %s: %s, not %s", (entry, allowed, refused) => {
    for (const address of allowed.split("|")) expect(isIpAllowed([entry], address), address).toBe(true)
    for (const address of refused.split("|")) expect(isIpAllowed([entry], address), address).toBe(false)
    expect(isIpAllowed([entry], undefined)).toBe(false)
    expect(isIpAllowed([entry], () => undefined)).toBe(false)
  })

  it("takes any of several entries, and keeps lists apart", () => {
    expect(isIpAllowed(["10.0.0.1", "2001:db8::/32"], "2001:db8::5")).toBe(true)
    expect(isIpAllowed(["10.0.0.1", "2001:db8::/32"], () => "10.0.0.1")).toBe(true)
    expect(isIpAllowed(["10.0.0.2"], "10.0.0.1")).toBe(false)
    expect(isIpAllowed([], "10.0.0.1")).toBe(false)
  })
})

const inside = "203.0.113.7"
const outside = "198.51.100.1"
const ipAllow = ["203.0.113.0/24", "2001:db8::/32"]

describe.each(stores)("a key with ipAllow, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async (bucket: LocalKeyBucketHandle = gate().account(freshAccount()).keyBucket("production")) => {
    await bucket.consumers.create({ name: "alice" })
    const { id, key } = await bucket.keys.create("alice", { ipAllow })
    return { production: bucket, id, key }
  }

  it("passes from its addresses only, and from none that is not known", async () => {
    const { production, id, key } = await open()
    for (const ip of [inside, `::ffff:${inside}`, "2001:db8::1"]) {
      expect(await production.verify(key, { ip })).toMatchObject({ valid: true, keyId: id })
      expect(await production.verify(key, { ip })).not.toHaveProperty("ipAllow")
      expect(await production.authorize(key, { ip })).toMatchObject({ allowed: true, keyId: id })
    }
    const { id: consumerId } = await production.consumers.get("alice")
    const consumer = { id: consumerId, name: "alice", tags: {}, metadata: {} }
    for (const ip of [outside, "not an address", "", undefined]) {
      expect(await production.verify(key, { ip })).toEqual({ valid: false, reason: "ip-not-allowed" })
      const refusal = { allowed: false, reason: "ip-not-allowed", consumer, keyId: id }
      expect(await production.authorize(key, { ip, scopes: ["missing"] })).toEqual(refusal)
    }
    expect(await production.verify(key)).toEqual({ valid: false, reason: "ip-not-allowed" })
    expect((await production.authorize(key)).allowed).toBe(false)
  })

  it("is not valid for other reasons first, also from another address", async () => {
    const { production, id, key } = await open()
    await production.keys.update("alice", id, { expiresOn: "2020-01-01T00:00:00Z" })
    expect(await production.authorize(key, { ip: outside })).toEqual({ allowed: false, reason: "expired-key" })
    await production.keys.update("alice", id, { disabled: true })
    expect(await production.authorize(key, { ip: outside })).toEqual({ allowed: false, reason: "disabled-key" })
    expect(await production.verify(key, { ip: outside })).toEqual({ valid: false, reason: "invalid" })
  })

  it("takes nothing and counts nothing from another address", async () => {
    const { production, key } = await open()
    const billing = await gate().account(production.accountName).meteringBuckets.ensure("default")
    await billing.plans.create({ label: "pro", meters: { requests: { max: 10 } } })
    const { id: subscriptionId } = await billing.subscriptions.create({
      customerKey: "alice",
      planExternalIds: ["pro"]
    })
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    const options: AuthorizeOptions = { metering, rateLimit: { limit: 1, per: "day" } }
    for (let count = 0; count < 3; count++) {
      expect(await production.authorize(key, { ...options, ip: outside })).toMatchObject({ reason: "ip-not-allowed" })
    }
    expect((await billing.usage.quotas(subscriptionId)).meters["requests"]?.used).toBe(0)
    expect(await production.authorize(key, { ...options, ip: inside })).toMatchObject({ allowed: true })
    expect(await production.authorize(key, { ...options, ip: inside })).toMatchObject({ reason: "rate-limited" })
    expect((await billing.usage.quotas(subscriptionId)).meters["requests"]?.used).toBe(1)
  })

  it("is created one by one, in bulk, with its consumer, and imported; a roll gives its addresses to the new key", async () => {
    const { production } = await open()
    const { keys, consumers } = production
    const bulk = await keys.createMany("alice", [{ ipAllow: ["10.0.0.1"] }, { ipAllow: [] }])
    expect(bulk.data.map(({ ipAllow }) => ipAllow)).toEqual([["10.0.0.1"], undefined])
    expect((await production.verify(bulk.data[0]?.key, { ip: "10.0.0.1" })).valid).toBe(true)
    expect((await production.verify(bulk.data[1]?.key)).valid).toBe(true)
    const value = `imported-value-${production.accountName}`
    const item = { hash: hash("sha256", value), algorithm: "sha256", ipAllow: ["10.0.0.2"] } as const
    expect((await keys.import("alice", { keys: [item] })).data[0]?.ipAllow).toEqual(["10.0.0.2"])
    expect((await production.verify(value, { ip: "10.0.0.2" })).valid).toBe(true)
    expect((await production.verify(value, { ip: "10.0.0.1" })).valid).toBe(false)
    const bob = await consumers.create({ name: "bob", apiKeys: [{ ipAllow, scopes: ["a"] }] })
    expect(bob.apiKeys?.[0]?.ipAllow).toEqual(ipAllow)
    for (const scopes of [undefined, ["b"]]) {
      const rolled = await consumers.rollKey("bob", { expiresOn: "2099-01-01T00:00:00Z", scopes })
      expect(rolled).toMatchObject({ ipAllow, scopes: scopes ?? ["a"] })
    }
  })

  it("has the addresses of an update at once, also with a verify cache", async () => {
    const cached = await openGate(store(), { verifyCache: { ttl: 600_000 } })
    const { production, id, key } = await open(cached.account(freshAccount()).keyBucket("production"))
    const isValid = async (ip?: string) => (await production.verify(key, { ip })).valid
    for (let count = 0; count < 2; count++) {
      expect([await isValid(inside), await isValid(outside), await isValid()]).toEqual([true, false, false])
    }
    const updated = await production.keys.update("alice", id, { ipAllow: [outside] })
    expect(updated.ipAllow).toEqual([outside])
    expect([await isValid(inside), await isValid(outside)]).toEqual([false, true])
    expect((await production.keys.update("alice", id, { description: "d" })).ipAllow).toEqual([outside])
    for (const none of [null, []]) {
      expect(await production.keys.update("alice", id, { ipAllow: none })).not.toHaveProperty("ipAllow")
      expect([await isValid(inside), await isValid()]).toEqual([true, true])
      await production.keys.update("alice", id, { ipAllow })
      expect(await isValid(outside)).toBe(false)
    }
    await cached.close()
  })
})

describe("the use of a key with ipAllow", () => {
  it("is written when it passes, and not when it is refused", async () => {
    const store = MemoryStore.open()
    const gate = await createTollgate({ store, secret })
    const { consumers, authorize } = gate.account("acme").keyBucket("production")
    const { apiKeys } = await consumers.create({ name: "alice", apiKeys: [{ ipAllow }, { ipAllow }] })
    await authorize(apiKeys?.[0]?.key, { ip: outside })
    await authorize(apiKeys?.[1]?.key, { ip: inside })
    // Writes the uses.
    await gate.close()
    const next = await createTollgate({ store, secret })
    const { data } = await next.account("acme").keyBucket("production").keys.list("alice")
    expect(data.map((key) => "lastUsedOn" in key)).toEqual([false, true])
    await next.close()
  })
})

describe("the option ip of authorize", () => {
  it("must be a string, and leaves the other options as they are", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret })
    const { authorize, consumers } = gate.account("acme").keyBucket("production")
    const { apiKeys } = await consumers.create({ name: "alice", apiKeys: [{ scopes: ["a"] }] })
    const key = apiKeys?.[0]?.key
    for (const ip of ["10.0.0.1", "10.0.0.2", undefined]) {
      expect((await authorize(key, { ip, scopes: ["a"] })).allowed).toBe(true)
      expect(await authorize(key, { ip, scopes: ["b"] })).toMatchObject({ reason: "missing-scope" })
      await expect(authorize(key, { ip, scope: ["b"] } as never)).rejects.toThrow(InvalidInput)
    }
    await expect(authorize(key, { ip: 5 } as never)).rejects.toThrow("ip: Expected string")
    await gate.close()
  })
})
