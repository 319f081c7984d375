/**
 * Copies that fail: the target is not empty, the source changes, a store or the process fails.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigurationError } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, Partition, StoreContents, type StoreWithContents } from "@tollgate/store"
import { type CopyProgress, copyContents, copyStore, StoreCopyError } from "@tollgate/store/copy"
import { getNodeOptions, startRedis, temporaryFolder } from "@tollgate/testing"
import { Context, Effect, Layer, Stream } from "effect"
import { Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "production")
const other = Partition.forKeyBucket("acme", "other")
const put = (key: string, expect = 0) =>
  Change.Put({ key, expect, body: `body of ${key}`, indexTerms: ["t"], uniqueKeys: [key] })
const add = (counter: string, ttl: number) => Change.Add({ counter, by: 1, ttl })
const day = 86_400_000

const fill = async (store: StoreWithContents, records = 2) => {
  const changes = Array.from({ length: records }, (_, index) => put(`r${index}`))
  await Effect.runPromise(store.commit(partition, [...changes, add("n", day), add("soon", 60_000)]))
  await Effect.runPromise(store.commit(other, [put("a")]))
}
const readAll = ({ contents }: StoreWithContents) =>
  Effect.runPromise(Stream.runCollect(Stream.flatMap(contents.partitions, contents.read)))
const getError = async (copy: Promise<unknown>): Promise<StoreCopyError> => {
  const error = await copy.then(
    () => undefined,
    (error: unknown) => error
  )
  assert.instanceOf(error, StoreCopyError)
  return error
}
/** Calls `change` when everything is copied and nothing is checked yet. */
const afterCopy = (change: () => void) => ({
  onProgress: ({ phase, partitions, totalPartitions }: CopyProgress) => {
    if (phase === "copy" && partitions === totalPartitions) change()
  }
})

describe("copyStore", () => {
  it("refuses to copy a store into itself", async () => {
    const store = MemoryStore.open()
    await fill(store)
    const { reason, message } = await getError(copyStore(store, store))
    assert.strictEqual(reason, "same-store")
    assert.include(message, "source and target are the same store. Pass another store as the target.")
  })

  it("refuses a target that is not empty, and changes nothing", async () => {
    const [from, to] = [MemoryStore.open(), MemoryStore.open()]
    await fill(from)
    await Effect.runPromise(to.commit(other, [add("n", day)]))
    const before = await readAll(to)
    const { reason, message } = await getError(copyStore(from, to))
    assert.strictEqual(reason, "target-not-empty")
    assert.strictEqual(
      message,
      "Cannot copy the store: the target is not empty. Check that it is the right one. If it has the rest of an interrupted copy, " +
        "empty the target: delete the file of SQLite with its -wal and -shm files, drop the schema of PostgreSQL with DROP SCHEMA … CASCADE, " +
        "or delete the keys of Redis that begin with the prefix. If a database has tables of your own, drop only the tables and functions named tollgate_…."
    )
    assert.deepStrictEqual(await readAll(to), before)
  })

  it("accepts a target whose entries have expired, and an empty source", async () => {
    const [from, to] = [MemoryStore.open(), MemoryStore.open()]
    await Effect.runPromise(to.contents.write(other, [{ _tag: "Counter", name: "n", value: 1, expiresAt: 1 }]))
    const { hash, ...counts } = await copyStore(from, to)
    assert.deepStrictEqual(counts, { partitions: 0, records: 0, counters: 0, replays: 0 })
  })

  it.each<readonly [name: string, change: (store: StoreWithContents) => Effect.Effect<unknown, unknown>]>([
    ["updates a record", (store) => store.commit(partition, [put("r0", 1)])],
    ["creates a record", (store) => store.commit(partition, [put("new")])],
    ["deletes a record", (store) => store.commit(partition, [Change.Delete({ key: "r1", expect: 2 })])],
    ["counts", (store) => store.commit(partition, [add("n", 1)])],
    ["extends the time to live of a counter", (store) => store.commit(partition, [add("soon", day)])],
    [
      "commits with an idempotency id",
      (store) => store.commit(partition, [], { id: "i", fingerprint: "", result: "", ttl: day })
    ],
    ["creates a partition", (store) => store.commit(Partition.forKeyBucket("acme", "late"), [put("a")])],
    ["clears a partition", (store) => store.clear(other)]
  ])("fails when a server %s in the source meanwhile", async (_, change) => {
    const [from, to] = [MemoryStore.open(), MemoryStore.open()]
    await fill(from)
    const { reason, message } = await getError(
      copyStore(
        from,
        to,
        afterCopy(() => Effect.runSync(change(from)))
      )
    )
    assert.strictEqual(reason, "contents-differ")
    assert.include(message, "Stop all servers that use the source. To copy again, empty the target")
  })

  it("does not check what expires within 10 minutes, but copies it", async () => {
    const [from, to] = [MemoryStore.open(), MemoryStore.open()]
    await fill(from)
    const result = await copyStore(
      from,
      to,
      afterCopy(() => Effect.runSync(from.commit(partition, [add("soon", 60_000)])))
    )
    assert.strictEqual(result.counters, 2)
    assert.deepStrictEqual(await Effect.runPromise(to.counters(partition, ["soon"])), [1])
  })

  it("reports its progress", async () => {
    const [from, to] = [MemoryStore.open(), MemoryStore.open()]
    await fill(from, 1_200)
    const reports: Array<CopyProgress> = []
    const { hash, ...counts } = await copyStore(from, to, { onProgress: (progress) => reports.push(progress) })
    assert.deepStrictEqual(counts, { partitions: 2, records: 1_201, counters: 2, replays: 0 })
    assert.match(hash, /^[0-9a-f]{64}$/)
    const done = { partitions: 2, totalPartitions: 2, records: 1_201, counters: 2, replays: 0 }
    assert.deepStrictEqual(
      reports.filter(({ partitions }) => partitions === 2),
      [
        { phase: "copy", ...done },
        { phase: "check", ...done }
      ]
    )
    const copied = reports.filter(({ phase }) => phase === "copy").map(({ records }) => records)
    assert.deepStrictEqual(
      copied,
      copied.toSorted((left, right) => left - right)
    )
    assert.isAbove(copied.length, 3)
  })

  it("says which store failed", async () => {
    const [from, to] = [MemoryStore.open(), await SqliteStore.open(":memory:")]
    await fill(from)
    const onProgress = () => void to.close()
    const { reason, message } = await getError(copyStore(from, to, { onProgress }))
    assert.strictEqual(reason, "interrupted")
    assert.include(
      message,
      "the target failed: The store cannot be written to: the store is closed. To copy again, empty"
    )
    assert.include(
      (await getError(copyStore(to, MemoryStore.open()))).message,
      "the source failed: The store cannot be read"
    )
  })

  it.each<readonly [name: string, from: unknown, options: unknown, message: string]>([
    ["a promise", SqliteStore.open(":memory:"), {}, "from: is a promise; await it, as in await SqliteStore.open(…)"],
    ["a path", "data.db", {}, "from: must be a store that is open, such as await SqliteStore.open(…)"],
    [
      "an unknown option",
      MemoryStore.open(),
      { progress: 1 },
      "progress: unknown option; the options are from, to, onProgress"
    ]
  ])("rejects %s", async (_, from, options, message) => {
    const error = await copyStore(from as StoreWithContents, MemoryStore.open(), options as object).catch(
      (error: unknown) => error
    )
    assert.instanceOf(error, ConfigurationError)
    assert.strictEqual(error.message, message)
  })

  it.effect("copies the contents of layers", () =>
    Effect.gen(function* () {
      const [from, to] = [yield* Layer.build(MemoryStore.layer), yield* Layer.build(SqliteStore.layer(":memory:"))]
      yield* Context.get(from, StoreContents).write(partition, [{ _tag: "Sequence", value: 7 }])
      const { partitions } = yield* copyContents(Context.get(from, StoreContents), Context.get(to, StoreContents))
      assert.strictEqual(partitions, 1)
    })
  )
})

describe("a copy that is killed", () => {
  const runWorker = async (source: string, target: string) => {
    const worker = new URL("./copyStore.worker.ts", import.meta.url).pathname
    const child = spawn(process.execPath, [...getNodeOptions(), worker, source, target], {
      stdio: "inherit"
    })
    return (await once(child, "exit"))[1]
  }

  it.live("is refused when it is repeated, and works when the SQLite file was deleted", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [source, target] = [join(folder, "from.db"), join(folder, "to.db")]
      yield* Effect.promise(async () => {
        const from = await SqliteStore.open(source)
        await fill(from, 3_000)
        assert.strictEqual(await runWorker(source, target), "SIGKILL")
        const partial = await SqliteStore.open(target)
        assert.strictEqual((await getError(copyStore(from, partial))).reason, "target-not-empty")
        await partial.close()

        for (const file of [target, `${target}-wal`, `${target}-shm`]) rmSync(file, { force: true })
        assert.isFalse(existsSync(target))
        const to = await SqliteStore.open(target)
        assert.strictEqual((await copyStore(from, to)).records, 3_001)
        await Promise.all([from.close(), to.close()])
      })
    })
  )

  it.live("is refused when it is repeated, and works when the keys of Redis were deleted", () =>
    Effect.gen(function* () {
      const source = join(yield* temporaryFolder, "from.db")
      const { url } = yield* startRedis()
      yield* Effect.promise(async () => {
        const from = await SqliteStore.open(source)
        const to = await RedisStore.open(url)
        await fill(from, 3_000)
        assert.strictEqual(await runWorker(source, url), "SIGKILL")
        assert.strictEqual((await getError(copyStore(from, to))).reason, "target-not-empty")

        const client = new Redis(url)
        await client.set("not:tollgate:", "kept")
        for await (const keys of client.scanStream({ match: "tollgate:*" }))
          if (keys.length > 0) await client.unlink(keys)
        assert.strictEqual((await copyStore(from, to)).records, 3_001)
        assert.strictEqual(await client.get("not:tollgate:"), "kept")
        client.disconnect()
        await Promise.all([from.close(), to.close()])
      })
    })
  )
})
