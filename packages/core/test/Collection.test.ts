import { assert, layer } from "@effect/vitest"
import { RecordUnreadable, StoreConflict } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Change, Collection, Partition, Store } from "@tollgate/store"
import { StoreState, stateHash } from "@tollgate/store-testkit"
import { DateTime, Effect, Option, Schema } from "effect"
import { TestClock } from "effect/testing"

class Person extends Schema.Class<Person>("Person")({
  name: Schema.String,
  team: Schema.String,
  email: Schema.String,
  visits: Schema.Int,
  since: Schema.DateTimeUtcFromString
}) {}

const people = Collection.make({
  name: "person",
  format: 2,
  schema: Person,
  key: (person) => person.name,
  indexTerms: (person) => [`team:${person.team}`],
  uniqueKeys: (person) => [`email:${person.email}`]
})

const Note = Schema.Struct({ id: Schema.String, by: Schema.String, text: Schema.String })
const notes = Collection.make({
  name: "note",
  format: 1,
  schema: Note,
  key: (note) => note.id,
  uniqueKeys: (note) => [`text:${note.text}`],
  parent: (note) => people.recordKey(note.by)
})

const person = (name: string, fields: Partial<Person> = {}) =>
  new Person({
    name,
    team: "blue",
    email: `${name}@example.com`,
    visits: 0,
    since: DateTime.makeUnsafe("2026-01-31T00:00:00Z"),
    ...fields
  })

const commit = (partition: Partition.Partition, ...changes: ReadonlyArray<Change>) =>
  Effect.flatMap(Store, (store) => store.commit(partition, changes))

layer(StoreState.layer(MemoryStore.layer))("Collection", (it) => {
  it.effect("reads an inserted value with its version", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "read")
      const committed = yield* commit(partition, people.insert(person("alice")))
      const entry = yield* people.get(partition, "alice")
      assert.deepStrictEqual(
        entry,
        Option.some({ value: person("alice"), version: people.getVersion(committed, "alice") })
      )
      assert.isAbove(people.getVersion(committed, "alice"), 0)
      assert.strictEqual(people.getVersion(committed, "bob"), 0)
      assert.deepStrictEqual(yield* people.get(partition, "bob"), Option.none())
    })
  )

  it.effect("pages through all values, or through those with the given terms", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "page")
      yield* commit(
        partition,
        people.insert(person("carol")),
        people.insert(person("bob", { team: "red" })),
        notes.insert({ id: "1", by: "bob", text: "hello" }),
        people.insert(person("alice"))
      )
      const names = (page: Collection.EntryPage<Person>) => page.entries.map(({ value }) => value.name)
      const all = yield* people.page(partition, { offset: 0, limit: 2 })
      assert.deepStrictEqual([names(all), all.total], [["carol", "bob"], 3])
      const blue = yield* people.page(partition, { where: ["team:blue"], offset: 1, limit: 5 })
      assert.deepStrictEqual([names(blue), blue.total], [["alice"], 2])
      const [red, none] = yield* people.pages(partition, [
        { where: ["team:red"], offset: 0, limit: 5 },
        { where: ["team:none"], offset: 0, limit: 5 }
      ])
      assert.deepStrictEqual([red?.total, none?.total], [1, 0])
    })
  )

  it.effect("finds an entry by unique key, together with its parent", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "unique-key")
      yield* commit(partition, people.insert(person("bob")), notes.insert({ id: "1", by: "bob", text: "hello" }))
      const match = Option.getOrThrow(yield* notes.getByUniqueKey(partition, "text:hello"))
      assert.strictEqual(match.entry.value.id, "1")
      assert.isDefined(match.parent)
      if (match.parent === undefined) return
      assert.strictEqual((yield* people.decode(match.parent)).value.name, "bob")
      assert.deepStrictEqual(yield* notes.getByUniqueKey(partition, "text:other"), Option.none())
    })
  )

  it.effect("creates changes that conflict when the record has changed", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "changes")
      yield* commit(partition, people.insert(person("alice")))
      const entry = Option.getOrThrow(yield* people.get(partition, "alice"))
      yield* commit(partition, people.assertUnchanged(entry), people.assertAtMost("team:blue", 1))
      const updated = person("alice", { visits: 1 })
      yield* commit(partition, people.replace(entry, updated))
      const before = yield* stateHash
      const conflicting = [
        people.insert(person("alice")),
        people.replace(entry, updated),
        people.remove(entry),
        people.assertUnchanged(entry),
        people.assertAtMost("team:blue", 0),
        people.insert(person("eve", { email: "alice@example.com" }))
      ]
      for (const change of conflicting) {
        assert.instanceOf(yield* Effect.flip(commit(partition, change)), StoreConflict)
      }
      assert.strictEqual(yield* stateHash, before)
      yield* commit(partition, people.remove(Option.getOrThrow(yield* people.get(partition, "alice"))))
      assert.deepStrictEqual(yield* people.get(partition, "alice"), Option.none())
    })
  )

  it.effect("keeps fields that only a newer version knows, at any depth, when it replaces a record", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "newer")
      const Item = Schema.Struct({ id: Schema.String, size: Schema.Int })
      const fields = {
        id: Schema.String,
        title: Schema.optionalKey(Schema.String),
        items: Schema.Array(Item),
        limits: Schema.Record(Schema.String, Schema.Struct({ max: Schema.Int }))
      }
      const options = { name: "thing", format: 1, key: ({ id }: { readonly id: string }) => id }
      const older = Collection.make({ ...options, schema: Schema.Struct(fields) })
      const newer = Collection.make({
        ...options,
        schema: Schema.Struct({
          ...fields,
          note: Schema.String,
          items: Schema.Array(Schema.Struct({ ...Item.fields, colour: Schema.String })),
          limits: Schema.Record(Schema.String, Schema.Struct({ max: Schema.Int, per: Schema.String }))
        })
      })
      const thing = {
        id: "1",
        title: "old",
        note: "kept",
        items: [
          { id: "a", size: 1, colour: "red" },
          { id: "b", size: 2, colour: "blue" },
          { id: "c", size: 3, colour: "green" }
        ],
        limits: { requests: { max: 1, per: "day" }, tokens: { max: 2, per: "hour" } }
      }
      yield* commit(partition, newer.insert(thing))
      const entry = Option.getOrThrow(yield* older.get(partition, "1"))
      assert.notProperty(entry.value, "note")
      const { title: _, ...rest } = entry.value
      const [first, , third] = rest.items
      const items = [third, first, { id: "d", size: 4 }].filter((item) => item !== undefined)
      yield* commit(partition, older.replace(entry, { ...rest, items, limits: { requests: { max: 9 } } }))
      const [record] = yield* (yield* Store).get(partition, ["thing/1"])
      assert.deepStrictEqual(JSON.parse(record?.body.slice(2) ?? ""), {
        id: "1",
        items: [
          { id: "c", size: 3, colour: "green" },
          { id: "a", size: 1, colour: "red" },
          { id: "d", size: 4 }
        ],
        limits: { requests: { max: 9, per: "day" } },
        note: "kept"
      })
      yield* older.modify(partition, "1", (value) => Effect.succeed({ ...value, title: "new" }))
      const [modified] = yield* (yield* Store).get(partition, ["thing/1"])
      assert.deepInclude(JSON.parse(modified?.body.slice(2) ?? ""), { title: "new", note: "kept" })
    })
  )

  it.effect("keeps unknown fields of equal items apart, also in long lists", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "equal")
      const options = { name: "bag", format: 1, key: ({ id }: { readonly id: string }) => id }
      const older = Collection.make({
        ...options,
        schema: Schema.Struct({
          id: Schema.String,
          items: Schema.Array(Schema.Struct({ size: Schema.Int })),
          numbers: Schema.Array(Schema.Int)
        })
      })
      const numbers = Array.from({ length: 20_000 }, (_, index) => index)
      const items = Array.from({ length: 5_000 }, (_, index) => ({ size: index % 2, colour: `colour ${index}` }))
      const store = yield* Store
      const body = JSON.stringify({ id: "1", items, numbers, note: "kept" })
      yield* store.commit(partition, [
        Change.Put({ key: "bag/1", expect: 0, body: `4 ${body}`, indexTerms: ["bag"], uniqueKeys: [] })
      ])
      const entry = Option.getOrThrow(yield* older.get(partition, "1"))
      yield* commit(partition, older.replace(entry, { ...entry.value, numbers: numbers.slice(1) }))
      const [record] = yield* store.get(partition, ["bag/1"])
      assert.deepStrictEqual(JSON.parse(record?.body.slice(2) ?? ""), {
        id: "1",
        items,
        numbers: numbers.slice(1),
        note: "kept"
      })
    })
  )

  it.effect("retries a modify after a conflicting write, even while the TestClock is stopped", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "modify")
      yield* commit(partition, people.insert(person("alice")))
      const visit = people.modify(partition, "alice", (alice) =>
        Effect.map(Effect.yieldNow, () => new Person({ ...alice, visits: alice.visits + 1 }))
      )
      yield* Effect.all([visit, visit, visit, visit], { concurrency: "unbounded" })
      assert.strictEqual(Option.getOrThrow(yield* people.get(partition, "alice")).value.visits, 4)
    })
  )

  it.effect("runs the change of a modify with the TestClock", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "clock")
      yield* commit(partition, people.insert(person("alice")))
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const changed = yield* people.modify(partition, "alice", (alice) =>
        Effect.map(DateTime.now, (since) => new Person({ ...alice, since }))
      )
      assert.strictEqual(DateTime.formatIso(Option.getOrThrow(changed).value.since), "2030-01-01T00:00:00.000Z")
    })
  )

  it.effect("fails a modify with a stale StoreConflict after 12 conflicts", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "contention")
      yield* commit(partition, people.insert(person("alice")))
      let attempts = 0
      const error = yield* Effect.flip(
        people.modify(
          partition,
          "alice",
          Effect.fnUntraced(function* (alice) {
            attempts++
            const entry = Option.getOrThrow(yield* people.get(partition, "alice"))
            yield* commit(partition, people.replace(entry, new Person({ ...alice, visits: attempts })))
            return alice
          })
        )
      )
      assert.deepInclude(error, { _tag: "StoreConflict", reason: "stale", subject: "person/alice" })
      assert.strictEqual(attempts, 12)
    })
  )

  it.effect("modifies nothing if the value does not exist or the change fails", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "missing")
      yield* commit(partition, people.insert(person("alice")))
      const before = yield* stateHash
      assert.deepStrictEqual(yield* people.modify(partition, "bob", Effect.succeed), Option.none())
      assert.strictEqual(yield* Effect.flip(people.modify(partition, "alice", () => Effect.fail("no"))), "no")
      assert.strictEqual(yield* stateHash, before)
    })
  )

  it.effect("rejects a body with a newer, missing or invalid format, and one of a preview", () =>
    Effect.gen(function* () {
      const partition = Partition.forKeyBucket("collection", "newer")
      const put = (name: string, body: string) =>
        Change.Put({ key: people.recordKey(name), expect: 0, body, indexTerms: [people.indexTerm()], uniqueKeys: [] })
      yield* commit(
        partition,
        put("newer", '6 {"secret":"x"}'),
        put("unversioned", "{}"),
        put("preview", '2 {"secret":"x"}'),
        put("invalid", '5 {"secret":"x"}')
      )
      const readError = (name: string) => Effect.flip(people.get(partition, name))
      const newer = yield* readError("newer")
      assert.instanceOf(newer, RecordUnreadable)
      assert.include(newer.message, "format 6 by a newer version of Tollgate, and this version reads up to 5")
      assert.include((yield* readError("unversioned")).message, "has no format version")
      assert.include((yield* readError("preview")).message, "a preview of Tollgate 0.1 wrote it")
      const invalid = yield* readError("invalid")
      assert.include(invalid.message, "does not match its schema")
      assert.notInclude(JSON.stringify(invalid), "secret")
    })
  )
})
