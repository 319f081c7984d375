/**
 * Decisions without a fiber, on stores that answer at once.
 */
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, Partition, StoreConflict, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { Clock, Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"

const secret = "a-secret-of-32-characters-for-tests"
const clock = Clock.Clock.defaultValue()
const partition = Partition.forKeyBucket("acme", "production")
const put = (key: string, expect: number) =>
  Change.Put({ key, expect, body: "{}", indexTerms: [], uniqueKeys: [`unique/${key}`] })

const authorizeOnce = async (store: StoreOperations) => {
  const gate = await createTollgate({ store, secret })
  const production = gate.account("acme").keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  const decision = await production.authorize(apiKeys[0].key, { rateLimit: { limit: 10, per: "minute" } })
  await gate.close()
  return decision
}

describe("a store that answers at once", () => {
  it("commits and looks up the same as in a fiber", async () => {
    const store = MemoryStore.open()
    const committed = store.commit.now?.(partition, [put("a", 0)], clock)
    expect(committed && Exit.isSuccess(committed) && committed.value.versions.get("a")).toBe(1)
    const found = store.getByUniqueKey.now?.(partition, ["unique/a", "unique/b"])
    expect(found && Exit.isSuccess(found) && found.value).toEqual(
      await Effect.runPromise(store.getByUniqueKey(partition, ["unique/a", "unique/b"]))
    )
  })

  it("refuses the same as in a fiber", async () => {
    const store = MemoryStore.open()
    const refused = store.commit.now?.(partition, [put("a", 7)], clock)
    const inFiber = await Effect.runPromise(Effect.flip(store.commit(partition, [put("a", 7)])))
    expect(refused && Exit.findErrorOption(refused)).toMatchObject({ value: { reason: "stale", subject: "a" } })
    expect(inFiber).toBeInstanceOf(StoreConflict)
    expect(inFiber).toMatchObject({ reason: "stale", subject: "a" })
  })

  it("is not asked past an operation that was replaced", async () => {
    const inner = MemoryStore.open()
    const calls: Array<string> = []
    const store: StoreOperations = {
      ...inner,
      getByUniqueKey: (partition, uniqueKeys) => {
        calls.push("getByUniqueKey")
        return inner.getByUniqueKey(partition, uniqueKeys)
      },
      commit: (partition, changes, idempotency) => {
        if (changes.some(({ _tag }) => _tag === "Take")) calls.push("commit")
        return inner.commit(partition, changes, idempotency)
      }
    }
    expect(await authorizeOnce(store)).toMatchObject({ allowed: true })
    expect(calls).toEqual(["getByUniqueKey", "commit"])
  })

  it("decides the same as one that does not", async () => {
    const { getByUniqueKey, commit, ...rest } = MemoryStore.open()
    const waiting: StoreOperations = {
      ...rest,
      getByUniqueKey: (partition, uniqueKeys) => getByUniqueKey(partition, uniqueKeys),
      commit: (partition, changes, idempotency) => commit(partition, changes, idempotency)
    }
    const [first, second] = [await authorizeOnce(MemoryStore.open()), await authorizeOnce(waiting)]
    const ids = { keyId: expect.any(String), consumer: expect.any(Object) }
    expect(second).toEqual({ ...first, ...ids })
  })
})

it("a closed SQLite file fails with StoreUnavailable", async () => {
  const store = await SqliteStore.open(":memory:")
  const gate = await createTollgate({ store, secret })
  const production = gate.account("acme").keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  await store.close()
  await expect(production.verify(apiKeys[0].key)).rejects.toBeInstanceOf(StoreUnavailable)
  await gate.close()
})
