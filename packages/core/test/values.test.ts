/**
 * Callers cannot change cached or shared values, and later changes to their arguments have no effect.
 */
import { assert, describe, expect, it } from "@effect/vitest"
import { createTollgate, InvalidInput } from "@tollgate/core"
import { Timestamp } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Collection, Partition, Store } from "@tollgate/store"
import { makeSubscription } from "@tollgate/testing"
import { DateTime, Effect, Schema } from "effect"
import { memoryDeployments } from "./allModules.ts"
import { secret } from "./stores.ts"

const throwError = (): never => {
  throw new Error("this object must not be inspected")
}

const openGate = () =>
  createTollgate({ store: MemoryStore.open(), secret, publicUrl: "http://gate", modules: [memoryDeployments()] })

describe("returned values", () => {
  it("cannot be changed by the caller for later calls", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret, verifyCache: { ttl: 60_000 } })
    const keyBucket = gate.account("acme").keyBucket("b")
    const input = { name: "alice", tags: { plan: "free" }, metadata: { nested: { roles: ["a"] } } }
    const created = await keyBucket.consumers.create(input, { withApiKey: true })
    for (let round = 0; round < 2; round++) {
      const read = (await keyBucket.consumers.get("alice")) as unknown as {
        metadata: { nested: { roles: Array<string> } }
      }
      assert.deepStrictEqual(read.metadata.nested.roles, ["a"])
      read.metadata.nested.roles.push("b")
    }
    const key = created.apiKeys[0].key ?? ""
    await keyBucket.verify(key)
    const verification = (await keyBucket.verify(key)) as { consumer: { tags: Record<string, string> } }
    assert.throws(() => {
      verification.consumer.tags["plan"] = "gold"
    })
    const nextVerification = await keyBucket.verify(key)
    assert.deepStrictEqual(nextVerification.valid && nextVerification.consumer.tags, { plan: "free" })
    await gate.close()
  })

  it("can be of any type that a schema supports, such as Uint8Array", async () => {
    const pictures = Collection.make({
      name: "picture",
      format: 1,
      schema: Schema.Struct({ name: Schema.String, bytes: Schema.Uint8ArrayFromBase64 }),
      key: ({ name }) => name
    })
    const store = MemoryStore.open()
    const partition = Partition.forKeyBucket("acme", "pictures")
    const program = Effect.gen(function* () {
      yield* store.commit(partition, [pictures.insert({ name: "a", bytes: new Uint8Array([1, 2, 3]) })])
      yield* pictures.get(partition, "a")
      return yield* pictures.get(partition, "a")
    })
    const entry = await Effect.runPromise(Effect.provideService(program, Store, store))
    assert.strictEqual(entry._tag, "Some")
  })
})

const throwingProxy = new Proxy(
  {},
  { get: () => throwError(), ownKeys: () => throwError(), getPrototypeOf: () => throwError() }
)
const invalidValues: ReadonlyArray<unknown> = [undefined, null, 1, "\ud800", Symbol("x"), [], {}, throwingProxy]
const asArgument = (value: unknown) => value as never

describe("the name of a handle", () => {
  it("causes a synchronous InvalidInput if it is invalid", async () => {
    const gate = await openGate()
    const account = gate.account("acme")
    for (const value of [...invalidValues, "", "a b"].map(asArgument)) {
      for (const open of [() => gate.account(value), () => account.keyBucket(value), () => account.project(value)]) {
        expect(open).toThrow(InvalidInput)
      }
    }
    for (const value of [...invalidValues, "", "..", "."].map(asArgument)) {
      expect(() => account.meteringBucket(value)).toThrow(InvalidInput)
    }
    await gate.close()
  })
})

describe("arguments", () => {
  it("cause a rejected promise if they are invalid, never a synchronous throw", async () => {
    const gate = await openGate()
    const keyBucket = gate.account("acme").keyBucket("b")
    const { plans, usage } = gate.account("acme").meteringBucket("bckt_x")
    const { deployments } = gate.account("acme").project("web")
    for (const value of [...invalidValues, "x"]) {
      const calls = [
        keyBucket.verify(asArgument(value)),
        keyBucket.verify("k", asArgument(value)),
        keyBucket.authorize(asArgument(value)),
        keyBucket.authorize("k", asArgument(value)),
        keyBucket.authorize("k", { metering: asArgument(value) }),
        plans.create(asArgument(value)),
        plans.create({ label: "x", meters: asArgument(value) }),
        deployments.upload(asArgument(value), new Uint8Array(1)),
        deployments.upload("http://localhost/v1/uploads/x.tar.gz", new Uint8Array(1), asArgument(value)),
        usage.consume(asArgument(value), { requests: 1 }),
        usage.consume("sbsc_x", asArgument(value)),
        usage.consume("sbsc_x", { requests: 1 }, asArgument(value))
      ]
      for (const result of await Promise.allSettled(calls)) expect(result.status).toMatch(/^(fulfilled|rejected)$/)
    }
    await expect(usage.consume("sbsc_x", { requests: 1 }, asArgument(null))).rejects.toMatchObject({
      _tag: "InvalidInput"
    })
    await gate.close()
  })

  it("are read once, when the method is called", async () => {
    const memory = MemoryStore.open()
    const slow = {
      ...memory,
      commit: (...args: Parameters<typeof memory.commit>) => Effect.andThen(Effect.yieldNow, memory.commit(...args))
    }
    const gate = await createTollgate({ store: slow, secret })
    const account = gate.account("acme")
    const { plans, subscriptions, usage } = account.meteringBucket((await account.meteringBuckets.create()).id)
    const plan = await plans.create({
      label: "P",
      planExternalId: "p",
      meters: { requests: { max: 100 } }
    })
    const { id } = await subscriptions.create(makeSubscription(plan.id, "p", { customerKey: "c" }))
    const meters: Record<string, number> = { requests: 1 }
    const consumption = usage.consume(id, meters)
    meters["requests"] = 50
    assert.strictEqual((await consumption).meters["requests"]?.used, 1)
    const error = await usage.consume(id, JSON.parse('{"__proto__":1}')).catch((error: unknown) => error)
    assert.propertyVal(error, "_tag", "InvalidInput")
    await gate.close()
  })
})

describe("a damaged key record", () => {
  it("never makes an expired key valid", async () => {
    const memory = MemoryStore.open()
    let damage = (body: string): string => body
    const store = {
      ...memory,
      getByUniqueKey: (...args: Parameters<typeof memory.getByUniqueKey>) =>
        Effect.map(memory.getByUniqueKey(...args), (matches) =>
          matches.map((match) => match && { ...match, record: { ...match.record, body: damage(match.record.body) } })
        )
    }
    const gate = await createTollgate({ store, secret })
    const keyBucket = gate.account("acme").keyBucket("b")
    const created = await keyBucket.consumers.create({
      name: "alice",
      apiKeys: [{ expiresOn: "2020-01-01T00:00:00Z" }]
    })
    const key = created.apiKeys?.[0]?.key ?? ""
    assert.isFalse((await keyBucket.verify(key)).valid)
    damage = (body) => body.replace('"expiresOn":', '"expiresOn" : ')
    assert.isFalse((await keyBucket.verify(key)).valid)
    damage = (body) => body.slice(0, body.indexOf('"expiresOn"'))
    const isValid = await keyBucket.verify(key).then(
      ({ valid }) => valid,
      () => false
    )
    assert.isFalse(isValid)
    await gate.close()
  })
})

describe("Timestamp", () => {
  it("truncates fractions of a second to milliseconds", () => {
    const decode = Schema.decodeUnknownSync(Timestamp)
    const normalize = (text: string) => DateTime.formatIso(decode(text))
    assert.strictEqual(normalize("2026-01-01T00:00:19.0539623824z"), "2026-01-01T00:00:19.053Z")
    assert.strictEqual(normalize("2026-01-01T00:00:19.999999999999Z"), "2026-01-01T00:00:19.999Z")
    assert.strictEqual(normalize("2026-01-01T01:00:00.5+01:00"), "2026-01-01T00:00:00.500Z")
  })
})
