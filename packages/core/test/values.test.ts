/**
 * What is remembered or shared inside must not be changed, or be seen changing, from outside.
 */
import { assert, describe, expect, it } from "@effect/vitest"
import { Collection, createTollgate, Partition, Store, Timestamp } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { makeSubscription } from "@tollgate/testing"
import { DateTime, Effect, Schema } from "effect"
import { secret } from "./stores.ts"

const raise = (): never => {
  throw new Error("not to be looked at")
}

describe("what a caller is given", () => {
  it("is the caller's own", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret, verifyCache: { ttl: 60_000 } })
    const input = { name: "alice", tags: { plan: "free" }, metadata: { nested: { roles: ["a"] } } }
    const made = await gate.consumers.create("acme", "b", input, { withApiKey: true })
    for (let round = 0; round < 2; round++) {
      const read = (await gate.consumers.get("acme", "b", "alice")) as unknown as {
        metadata: { nested: { roles: Array<string> } }
      }
      assert.deepStrictEqual(read.metadata.nested.roles, ["a"])
      read.metadata.nested.roles.push("b")
    }
    const key = made.apiKeys?.[0]?.key ?? ""
    await gate.keys.verify("acme", "b", key)
    const answer = (await gate.keys.verify("acme", "b", key)) as { consumer: { tags: Record<string, string> } }
    assert.throws(() => {
      answer.consumer.tags["plan"] = "gold"
    })
    const again = await gate.keys.verify("acme", "b", key)
    assert.deepStrictEqual(again.valid && again.consumer.tags, { plan: "free" })
    await gate.close()
  })

  it("may be anything that a schema can hold", async () => {
    const pictures = Collection.make({
      name: "picture",
      format: 1,
      schema: Schema.Struct({ name: Schema.String, bytes: Schema.Uint8ArrayFromBase64 }),
      key: ({ name }) => name
    })
    const store = MemoryStore.open()
    const partition = Partition.keys("acme", "pictures")
    const program = Effect.gen(function* () {
      yield* store.commit(partition, [pictures.insert({ name: "a", bytes: new Uint8Array([1, 2, 3]) })])
      yield* pictures.get(partition, "a")
      return yield* pictures.get(partition, "a")
    })
    const found = await Effect.runPromise(Effect.provideService(program, Store, store))
    assert.strictEqual(found._tag, "Some")
  })
})

describe("what a caller gives", () => {
  it("is refused by a rejection, whatever it is, and not by a throw", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret })
    const thrower = new Proxy({}, { get: () => raise(), ownKeys: () => raise(), getPrototypeOf: () => raise() })
    const rubbish: ReadonlyArray<unknown> = [undefined, null, 1, "x", "\ud800", Symbol("x"), [], {}, thrower]
    const given = (value: unknown) => value as never
    for (const value of rubbish) {
      const calls = [
        gate.keys.verify(given(value), given(value), given(value)),
        gate.authorize(given(value)),
        gate.authorize({ account: "acme", bucket: "b", key: "k", metering: given(value) }),
        gate.usage.consume(given(value), given(value), { requests: 1 }),
        gate.usage.consume("bckt_x", "sbsc_x", given(value)),
        gate.usage.consume("bckt_x", "sbsc_x", { requests: 1 }, given(value))
      ]
      for (const settled of await Promise.allSettled(calls)) expect(settled.status).toMatch(/^(fulfilled|rejected)$/)
    }
    await expect(gate.usage.consume("bckt_x", "sbsc_x", { requests: 1 }, given(null))).rejects.toMatchObject({
      _tag: "InvalidInput"
    })
    await gate.close()
  })

  it("is read once, when it is given", async () => {
    const memory = MemoryStore.open()
    const slow = {
      ...memory,
      commit: (...given: Parameters<typeof memory.commit>) => Effect.andThen(Effect.yieldNow, memory.commit(...given))
    }
    const gate = await createTollgate({ store: slow, secret })
    const { id: bucketId } = await gate.meteringBuckets.create("acme")
    const plan = await gate.plans.create(bucketId, {
      label: "P",
      planExternalId: "p",
      meters: { requests: { max: 100 } }
    })
    const { id } = await gate.subscriptions.create(bucketId, makeSubscription(plan.id, "p", { customerKey: "c" }))
    const meters: Record<string, number> = { requests: 1 }
    const using = gate.usage.consume(bucketId, id, meters)
    meters["requests"] = 50
    assert.strictEqual((await using).meters["requests"]?.used, 1)
    const bad = await gate.usage.consume(bucketId, id, JSON.parse('{"__proto__":1}')).catch((error: unknown) => error)
    assert.propertyVal(bad, "_tag", "InvalidInput")
    await gate.close()
  })
})

describe("a key's record", () => {
  it("that was cut off, or spelt by somebody else, lets nobody in who has expired", async () => {
    const memory = MemoryStore.open()
    let change = (body: string): string => body
    const store = {
      ...memory,
      claimed: (...given: Parameters<typeof memory.getByUniqueKey>) =>
        Effect.map(memory.getByUniqueKey(...given), (found) =>
          found.map((one) => one && { ...one, record: { ...one.record, body: change(one.record.body) } })
        )
    }
    const gate = await createTollgate({ store, secret })
    const made = await gate.consumers.create("acme", "b", {
      name: "alice",
      apiKeys: [{ expiresOn: "2020-01-01T00:00:00Z" }]
    })
    const key = made.apiKeys?.[0]?.key ?? ""
    assert.isFalse((await gate.keys.verify("acme", "b", key)).valid)
    change = (body) => body.replace('"expiresOn":', '"expiresOn" : ')
    assert.isFalse((await gate.keys.verify("acme", "b", key)).valid)
    change = (body) => body.slice(0, body.indexOf('"expiresOn"'))
    const cut = await gate.keys.verify("acme", "b", key).then(
      ({ valid }) => valid,
      () => false
    )
    assert.isFalse(cut)
    await gate.close()
  })
})

describe("a moment", () => {
  it("is read to the millisecond, however many digits it is written with", () => {
    const read = Schema.decodeUnknownSync(Timestamp)
    const told = (text: string) => DateTime.formatIso(read(text))
    assert.strictEqual(told("2026-01-01T00:00:19.0539623824z"), "2026-01-01T00:00:19.053Z")
    assert.strictEqual(told("2026-01-01T00:00:19.999999999999Z"), "2026-01-01T00:00:19.999Z")
    assert.strictEqual(told("2026-01-01T01:00:00.5+01:00"), "2026-01-01T00:00:00.500Z")
  })
})
