/**
 * A copy of a partition, made of what `read` returns and `write` writes, behaves like the original.
 */
import { deepEqual, equal, ok } from "node:assert/strict"
import { Change, type Partition, StoreEntry, StoreMisuse } from "@tollgate/store"
import { Cause, Clock, Effect, Exit, Stream } from "effect"
import { add, cases, getVersions, makeIdempotency, put, raise, type StoreFixture } from "./ContractCase.ts"
import { measureBatches, sortEntries, toKeys } from "./entries.ts"
import { hour, take } from "./rateLimitCases.ts"

/** Far enough in the future that nothing expires while a case runs. */
const later = Effect.map(Clock.currentTimeMillis, (now) => now + 3_600_000)

const oddNames = ["", " ", "a:b\n{c}", "nul\u0000byte", "🗝️", "é", "e\u0301", "'\"\\%_*[]", "x".repeat(5_000)]

const listPartitions = ({ contents }: StoreFixture) =>
  Effect.map(Stream.runCollect(contents.partitions), (names) => new Set<string>(names))

const siblingOf = (partition: Partition.Partition, name: string) => `${partition}-${name}` as Partition.Partition

export const contents = cases("contents", {
  *"read returns the sequence number, the records in the order of creation, counters and replays"(fixture) {
    const { commit, readEntries } = fixture
    const [first = 0, removed = 0] = getVersions(yield* commit([put("b"), put("removed"), put("a")]))
    const before = yield* Clock.currentTimeMillis
    yield* commit(
      [
        put("b", { expect: first, body: "new", indexTerms: ["t"], uniqueKeys: ["u"], parent: "a" }),
        Change.Delete({ key: "removed", expect: removed }),
        add("n", 3)
      ],
      makeIdempotency("id")
    )
    const entries = yield* readEntries
    deepEqual(toKeys(entries), ["b", "a"])
    deepEqual(entries[0], StoreEntry.Sequence({ value: 4 }))
    const record = { key: "b", version: 4, body: "new", indexTerms: ["t"], uniqueKeys: ["u"], parent: "a" }
    deepEqual(entries[1], StoreEntry.Record({ record }))
    const [counter, replay, ...rest] = sortEntries(entries.slice(3))
    deepEqual(rest, [])
    ok(counter?._tag === "Counter" && replay?._tag === "Replay")
    deepEqual({ name: counter.name, value: counter.value }, { name: "n", value: 3 })
    const { _tag, expiresAt, ...stored } = replay
    const { ttl, ...idempotency } = makeIdempotency("id")
    deepEqual(stored, { ...idempotency, versions: [["b", 4]], totals: [["n", 3]] })
    // The clock of a server may differ a little, and a store may keep a counter for longer.
    for (const time of [expiresAt, counter.expiresAt]) {
      ok(time >= before + ttl - 5_000 && time <= before + ttl * 2, `${time - before} should be about ${ttl}`)
    }
  },

  *"what was written is read back exactly"({ commit, readEntries, copy }) {
    yield* commit([put("p"), ...["c", "a", "b"].map((key) => put(key, { indexTerms: ["t"], parent: "p" }))])
    yield* commit([add("n", 3), raise("m", Number.MAX_SAFE_INTEGER), take("l")], makeIdempotency("id"))
    yield* commit([], makeIdempotency("empty"))
    const copied = yield* copy
    deepEqual(sortEntries(yield* copied.readEntries), sortEntries(yield* readEntries))
  },

  *"a written record has its version, index terms, unique keys and parent"({ commit, copy }) {
    yield* commit([put("p", { body: "parent" })])
    yield* commit([put("a", { body: "A", indexTerms: ["t", "u"], uniqueKeys: ["k", "l"], parent: "p" })])
    const { store, partition, get, list, getConflict } = yield* copy
    const record = { key: "a", version: 2, body: "A", indexTerms: ["t", "u"], uniqueKeys: ["k", "l"], parent: "p" }
    deepEqual(yield* get("a"), record)
    deepEqual(yield* list(["t", "u"]), { keys: ["a"], total: 1 })
    deepEqual(yield* store.getByUniqueKey(partition, ["l"]), [{ record, parent: yield* get("p") }])
    deepEqual(yield* getConflict([put("b", { uniqueKeys: ["k"] })]), { reason: "unique-key", name: "k" })
    deepEqual(yield* getConflict([Change.AtMost({ term: "t", atMost: 0 })]), { reason: "too-many-records", name: "t" })
    deepEqual(yield* getConflict([put("a", { expect: 1 })]), { reason: "stale", name: "a" })
  },

  *"written records are listed in their order, before records that are created later"({ commit, copy }) {
    const [first = 0] = getVersions(
      yield* commit(["c", "a", "d", "b"].map((key) => put(key, { indexTerms: ["t", "u"] })))
    )
    yield* commit([put("c", { expect: first, indexTerms: ["t", "u"] })])
    const copied = yield* copy
    yield* copied.commit([put("0", { indexTerms: ["t", "u"] })])
    deepEqual((yield* copied.list(["t"])).keys, ["c", "a", "d", "b", "0"])
    deepEqual((yield* copied.list(["t", "u"], { limit: 2 })).keys, ["c", "a"])
    deepEqual((yield* copied.list(["t"], { descending: true, limit: 2 })).keys, ["0", "b"])
    deepEqual(toKeys(yield* copied.readEntries), ["c", "a", "d", "b", "0"])
  },

  *"a written record can be updated and deleted, which frees its terms and unique keys"({ commit, copy }) {
    yield* commit([put("a", { indexTerms: ["t"], uniqueKeys: ["k"] }), put("b", { indexTerms: ["t"] })])
    const copied = yield* copy
    yield* copied.commit([put("b", { expect: 2, indexTerms: ["u"] })])
    yield* copied.commit([Change.Delete({ key: "a", expect: 1 })])
    deepEqual(yield* copied.list(["t"]), { keys: [], total: 0 })
    deepEqual((yield* copied.list(["u"])).keys, ["b"])
    yield* copied.commit([put("c", { uniqueKeys: ["k"] })])
    equal(yield* copied.findOwner("k"), "c")
  },

  *"versions continue after the sequence number, also that of deleted records"({ commit, copy }) {
    const [, deleted = 0] = getVersions(yield* commit([put("a"), put("b")]))
    yield* commit([Change.Delete({ key: "b", expect: deleted })])
    const copied = yield* copy
    deepEqual(getVersions(yield* copied.commit([put("b")])), [3])
  },

  *"a cleared partition has only its sequence number, and so has its copy"({ commit, store, partition, copy }) {
    yield* commit([put("a"), put("b"), add("n", 1)], makeIdempotency("id"))
    yield* store.clear(partition)
    const copied = yield* copy
    deepEqual(yield* copied.readEntries, [StoreEntry.Sequence({ value: 2 })])
    deepEqual(getVersions(yield* copied.commit([put("a")])), [3])
  },

  *"a written counter counts on, and keeps its maximum"({ commit, copy }) {
    yield* commit([add("n", 3), raise("m", 7)])
    const copied = yield* copy
    equal(yield* copied.counter("n"), 3)
    deepEqual(yield* copied.getConflict([add("n", 3, 5)]), { reason: "counter-exceeded", name: "n" })
    yield* copied.commit([add("n", 2, 5), raise("m", 5)])
    equal(yield* copied.counter("n"), 5)
    equal(yield* copied.counter("m"), 7)
  },

  *"a written rate limit has as much left as the original"({ commit, copy }) {
    yield* commit([take("l", { cost: 2, interval: hour, burst: 3 })])
    const copied = yield* copy
    deepEqual(yield* copied.getConflict([take("l", { cost: 2 })]), { reason: "rate-limited", name: "l" })
    yield* copied.commit([take("l")])
    deepEqual(yield* copied.getConflict([take("l")]), { reason: "rate-limited", name: "l" })
  },

  *"a written replay returns the first result, with its names"({ commit, copy }) {
    const first = yield* commit([put("a"), add("n", 2), put("b")], makeIdempotency("id", { result: "first" }))
    const copied = yield* copy
    const replay = yield* copied.commit([put("c"), add("m", 1)], makeIdempotency("id", { result: "second" }))
    deepEqual(replay, { ...first, replayed: { fingerprint: "fingerprint of id", result: "first" } })
    equal(yield* copied.get("c"), undefined)
    equal(yield* copied.counter("m"), 0)
  },

  *"writing entries again changes nothing"({ commit, copy, readEntries, contents }) {
    yield* commit([put("a", { indexTerms: ["t"], uniqueKeys: ["k"] }), put("b", { indexTerms: ["t"] })])
    yield* commit([add("n", 3)], makeIdempotency("id"))
    const copied = yield* copy
    const before = yield* copied.readEntries
    yield* contents.write(copied.partition, yield* readEntries)
    yield* contents.write(copied.partition, before.slice(1, 2))
    deepEqual(sortEntries(yield* copied.readEntries), sortEntries(before))
    deepEqual(yield* copied.list(["t"]), { keys: ["a", "b"], total: 2 })
    yield* copied.commit([Change.AtMost({ term: "t", atMost: 2 })])
  },

  *"entries that have expired are neither written nor read"({ contents, partition, readEntries, counter, commit }) {
    const expiresAt = (yield* Clock.currentTimeMillis) - 10_000
    const { ttl, ...idempotency } = makeIdempotency("id")
    yield* contents.write(partition, [
      StoreEntry.Counter({ name: "n", value: 3, expiresAt }),
      StoreEntry.Replay({ ...idempotency, versions: [], totals: [], expiresAt })
    ])
    deepEqual(yield* readEntries, [])
    equal(yield* counter("n"), 0)
    equal((yield* commit([add("n", 1)], makeIdempotency("id"))).replayed, undefined)
  },

  *"names and texts may be empty, long, and contain any character"({
    contents,
    partition,
    readEntries,
    list,
    get,
    ...rest
  }) {
    const expiresAt = yield* later
    const written = [
      StoreEntry.Sequence({ value: oddNames.length }),
      ...oddNames.map((key, index) =>
        StoreEntry.Record({
          record: { key, version: index + 1, body: key, indexTerms: [key], uniqueKeys: [key], parent: key }
        })
      ),
      ...oddNames.map((name) => StoreEntry.Counter({ name, value: 1, expiresAt })),
      ...oddNames.map((id) => {
        const versions = [[id, 1]] as const
        return StoreEntry.Replay({ id, fingerprint: id, result: id, versions, totals: versions, expiresAt })
      })
    ]
    yield* contents.write(partition, written)
    deepEqual(sortEntries(yield* readEntries), sortEntries(written))
    for (const name of oddNames) {
      equal((yield* get(name))?.body, name)
      deepEqual((yield* list([name])).keys, [name])
      equal(yield* rest.findOwner(name), name)
      equal(yield* rest.counter(name), 1)
      deepEqual((yield* rest.commit([], makeIdempotency(name))).replayed, { fingerprint: name, result: name })
    }
  },

  *"entries with lone surrogates or invalid numbers are rejected"({ contents, partition, readEntries }) {
    const expiresAt = yield* later
    const record = { key: "a", version: 1, body: "", indexTerms: [], uniqueKeys: [] }
    const replay = { id: "i", fingerprint: "", result: "", versions: [], totals: [], expiresAt }
    for (const invalid of [
      StoreEntry.Record({ record: { ...record, key: "\ud800" } }),
      StoreEntry.Record({ record: { ...record, indexTerms: ["t", "t"] } }),
      StoreEntry.Record({ record: { ...record, version: 0 } }),
      StoreEntry.Sequence({ value: 1.5 }),
      StoreEntry.Counter({ name: "\udc00", value: 1, expiresAt }),
      StoreEntry.Counter({ name: "n", value: -1, expiresAt }),
      StoreEntry.Counter({ name: "n", value: 1, expiresAt: Number.NaN }),
      StoreEntry.Replay({ ...replay, result: "\ud800" }),
      StoreEntry.Replay({ ...replay, versions: [["\ud800", 1]] })
    ]) {
      const exit = yield* Effect.exit(contents.write(partition, [StoreEntry.Record({ record }), invalid]))
      ok(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof StoreMisuse, JSON.stringify(invalid))
    }
    deepEqual(yield* readEntries, [])
  },

  *"batches are limited in number and in size"({ commit, contents, partition, copy }) {
    const body = "é".repeat(300_000)
    yield* commit(Array.from({ length: 1_300 }, (_, index) => put(`r${index}`)))
    yield* commit(Array.from({ length: 1_300 }, (_, index) => add(`n${index}`, 1)))
    for (let index = 0; index < 8; index++) {
      yield* commit([put(`large ${index}`, { body })], makeIdempotency(`large ${index}`, { result: body }))
    }
    const batches = yield* Stream.runCollect(contents.read(partition))
    equal(batches.flat().length, 1 + 1_308 + 1_300 + 8)
    deepEqual(measureBatches(batches), { empty: 0, tooMany: 0, tooLarge: 0 })
    const copied = yield* copy
    deepEqual(sortEntries(yield* copied.readEntries), sortEntries(batches.flat()))
  },

  *"every partition that contains anything is listed"(fixture) {
    const { commit, store, contents, partition, list } = fixture
    const [counting, replaying, cleared, unused, written] = ["n", "i", "c", "u", "w"].map((name) =>
      siblingOf(partition, name)
    ) as [Partition.Partition, Partition.Partition, Partition.Partition, Partition.Partition, Partition.Partition]
    yield* commit([put("a")])
    yield* store.commit(counting, [add("n", 1)])
    yield* store.commit(replaying, [], makeIdempotency("id"))
    yield* store.commit(cleared, [put("a")])
    yield* store.clear(cleared)
    yield* list(["t"])
    yield* store.get(unused, ["a"])
    yield* contents.write(written, [StoreEntry.Sequence({ value: 1 })])
    const names = yield* listPartitions(fixture)
    for (const name of [partition, counting, replaying, cleared, written]) ok(names.has(name), `${name} is listed`)
    ok(!names.has(unused))
  },

  *"a partition without entries is empty, and so is its copy"({ readEntries, copy, contents, partition }) {
    deepEqual(yield* readEntries, [])
    yield* contents.write(partition, [])
    deepEqual(yield* (yield* copy).readEntries, [])
  }
})
