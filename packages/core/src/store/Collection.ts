/**
 * A typed view over the records of one kind in a partition: it knows how a value is encoded, what it is listed
 * by, which unique values it claims, and what it belongs to. Reading gives entries, a value with its version;
 * writing gives changes, to be committed together with those of other collections.
 *
 * @example
 * ```ts
 * const users = Collection.make({
 *   name: "user",
 *   format: 1,
 *   schema: User,
 *   key: (user) => user.name,
 *   terms: (user) => [`team:${user.team}`],
 *   claims: (user) => [`email:${user.email}`]
 * })
 *
 * yield* store.commit(partition, [users.insert(alice)])
 * const page = yield* users.page(partition, { where: ["team:blue"], offset: 0, limit: 10 })
 * yield* users.modify(partition, "alice", (user) => Effect.succeed({ ...user, team: "red" }))
 * ```
 */
import { Effect, Option, Schema } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { deepFreeze } from "../runtime/deepFreeze.ts"
import { forEachInTurns } from "../runtime/inTurns.ts"
import type { Partition } from "./Partition.ts"
import { retryOnConflict } from "./retryOnConflict.ts"
import { Change, type CommitResult, Store, type StoreRecord } from "./Store.ts"
import { RecordUnreadable, type StoreConflict, type StoreUnavailable } from "./StoreError.ts"
import { withUnknownFields } from "./withUnknownFields.ts"

/** A value as it is stored now. */
export interface Entry<A> {
  readonly value: A
  readonly version: number
}

export interface EntryPage<A> {
  readonly entries: ReadonlyArray<Entry<A>>
  readonly total: number
}

/** The entries that carry all the terms of `where`; all of the collection if there is none. */
export interface EntryQuery {
  readonly where?: ReadonlyArray<string>
  readonly offset: number
  readonly limit: number
}

export interface CollectionOptions<A, I> {
  /** Qualifies every key, term and claim, so that collections share a partition without meeting. */
  readonly name: string
  /** The format in which bodies are written: raised when an older version could not read them. */
  readonly format: number
  readonly schema: Schema.Codec<A, I>
  readonly key: (value: A) => string
  readonly indexTerms?: (value: A) => ReadonlyArray<string>
  readonly uniqueKeys?: (value: A) => ReadonlyArray<string>
  /** The full key of the record that the value belongs to: `parents.keyOf(name)`. */
  readonly parent?: (value: A) => string
}

type CollectionReadError = StoreUnavailable | RecordUnreadable

export interface Collection<A, I = unknown> {
  /** The store's key of the value with this key. */
  readonly recordKey: (key: string) => string
  /** The store's term for one of this collection's terms; without one, the term that all its values carry. */
  readonly indexTerm: (term?: string) => string
  readonly uniqueKey: (claim: string) => string

  /** A change that makes a new value, and is refused if its key exists. */
  readonly insert: (value: A) => Change
  /** A change that replaces an entry by a value with the same key. */
  readonly replace: (entry: Entry<A>, value: A) => Change
  readonly remove: (entry: Entry<A>) => Change
  /** A change that is refused unless the entry is still as it was read. */
  readonly assertUnchanged: (entry: Entry<A>) => Change
  /** A change that is refused if more values than that carry the term; without one, if the collection has more. */
  readonly assertAtMost: (term: string | undefined, count: number) => Change

  readonly get: (
    partition: Partition,
    key: string
  ) => Effect.Effect<Option.Option<Entry<A>>, CollectionReadError, Store>
  readonly page: (partition: Partition, query: EntryQuery) => Effect.Effect<EntryPage<A>, CollectionReadError, Store>
  readonly pages: (
    partition: Partition,
    queries: ReadonlyArray<EntryQuery>
  ) => Effect.Effect<ReadonlyArray<EntryPage<A>>, CollectionReadError, Store>
  /** The entry that holds a unique value, and its parent's record, which the parent's collection decodes. */
  readonly getByUniqueKey: (
    partition: Partition,
    claim: string
  ) => Effect.Effect<
    Option.Option<{ readonly entry: Entry<A>; readonly parent?: StoreRecord }>,
    CollectionReadError,
    Store
  >
  /** The version that a commit gave to the value with this key; 0 if it did not put it. */
  readonly versionIn: (committed: CommitResult, key: string) => number
  readonly decode: (record: StoreRecord) => Effect.Effect<Entry<A>, RecordUnreadable>
  /** The value as it was encoded, parsed and no more: for where a decoder's microseconds count. */
  readonly parseUnchecked: (record: StoreRecord) => I | RecordUnreadable
  /** Whether the value certainly has no such field, anywhere: told without parsing it. */
  readonly lacksField: (record: StoreRecord, field: string) => boolean
  /** The key of the value that a record holds. */
  readonly localKey: (record: StoreRecord) => string

  /**
   * Replaces a value by what `change` makes of it, again from the start when another writer was faster. Fails with
   * a stale `StoreConflict` if the others never let it through, and gives none if there is no such value.
   */
  readonly modify: <E, R>(
    partition: Partition,
    key: string,
    change: (value: A) => Effect.Effect<A, E, R>
  ) => Effect.Effect<Option.Option<Entry<A>>, E | CollectionReadError | StoreConflict, R | Store>
}

/** Characters of the bodies whose values a collection remembers, in all and of one. */
const maxCached = 1_000_000
const maxCachedBody = 4_096

export const make = <A, I>(options: CollectionOptions<A, I>): Collection<A, I> => {
  const { name, format, key, indexTerms: terms, uniqueKeys: claims, parent } = options
  const json = Schema.fromJsonString(options.schema)
  const encodeBody = Schema.encodeSync(json)
  const decodeBody = Schema.decodeUnknownEffect(json)

  /** What bodies begin with. */
  const current = `${format} `

  const recordKey = (key: string) => `${name}/${key}`
  const indexTerm = (term?: string) => (term === undefined ? name : `${name}/${term}`)
  const uniqueKey = (claim: string) => `${name}/${claim}`

  /** The bodies that values were decoded from: what this version does not know of them is written back with them. */
  const bodies = new WeakMap<object, string>()

  const bodyOf = (value: A, replaced: A | undefined): string => {
    const body = encodeBody(value)
    const stored = typeof replaced === "object" && replaced !== null ? bodies.get(replaced) : undefined
    if (stored === undefined || replaced === undefined) return current + body
    const known = encodeBody(replaced)
    const content = stored.slice(stored.indexOf(" ") + 1)
    return current + (content === known ? body : withUnknownFields(body, known, content))
  }

  const put = (value: A, expect: number, replaced?: A): Change =>
    Change.Put({
      key: recordKey(key(value)),
      expect,
      body: bodyOf(value, replaced),
      indexTerms: [indexTerm(), ...(terms?.(value) ?? []).map(indexTerm)],
      uniqueKeys: (claims?.(value) ?? []).map(uniqueKey),
      ...(parent === undefined ? {} : { parent: parent(value) })
    })

  const unreadable = (record: StoreRecord, problem: string) => new RecordUnreadable({ key: record.key, problem })

  /** The body without its format, if that is one this version knows. */
  const contentOf = (record: StoreRecord): string | RecordUnreadable => {
    if (record.body.startsWith(current)) return record.body.slice(current.length)
    const end = record.body.indexOf(" ")
    const written = Number(record.body.slice(0, end))
    if (end < 1 || !Number.isSafeInteger(written)) return unreadable(record, "its body names no format")
    if (written <= format) return record.body.slice(end + 1)
    return unreadable(
      record,
      `it was written in format ${written} by a newer version of Tollgate, and this one reads up to ${format}; ` +
        "run the newer version here too"
    )
  }

  const decoded = new BoundedMap<string, A>(maxCached, (_, body) => body.length)

  /** A value that was decoded before is not decoded again: the body tells all of it. */
  const decode = (record: StoreRecord): Effect.Effect<Entry<A>, RecordUnreadable> => {
    const known = decoded.get(record.body)
    if (known !== undefined) return Effect.succeed({ value: known, version: record.version })
    const content = contentOf(record)
    if (typeof content !== "string") return Effect.fail(content)
    return decodeBody(content).pipe(
      // The issue would quote the body, which may hold what must not be shown.
      Effect.mapError(() => unreadable(record, "its body does not fit its schema")),
      Effect.map((value) => {
        if (typeof value === "object" && value !== null) bodies.set(value, record.body)
        if (record.body.length <= maxCachedBody) decoded.set(record.body, deepFreeze(value))
        return { value, version: record.version }
      })
    )
  }

  const parseUnchecked = (record: StoreRecord): I | RecordUnreadable => {
    const content = contentOf(record)
    return typeof content === "string" ? JSON.parse(content) : content
  }

  const query = ({ where, offset, limit }: EntryQuery) => ({
    indexTerms: where === undefined || where.length === 0 ? [indexTerm()] : where.map(indexTerm),
    offset,
    limit
  })

  const get: Collection<A>["get"] = Effect.fnUntraced(function* (partition, key) {
    const store = yield* Store
    const [record] = yield* store.get(partition, [recordKey(key)])
    return record === undefined ? Option.none() : Option.some(yield* decode(record))
  })

  const pages: Collection<A>["pages"] = Effect.fnUntraced(function* (partition, queries) {
    const store = yield* Store
    const found = yield* store.list(partition, queries.map(query))
    return yield* Effect.forEach(found, ({ records, total }) =>
      Effect.map(forEachInTurns(records, decode), (entries) => ({ entries, total }))
    )
  })

  const versionIn = ({ versions }: CommitResult, key: string): number => versions.get(recordKey(key)) ?? 0

  return {
    recordKey,
    indexTerm,
    uniqueKey,
    insert: (value) => put(value, 0),
    replace: (entry, value) => put(value, entry.version, entry.value),
    remove: (entry) => Change.Delete({ key: recordKey(key(entry.value)), expect: entry.version }),
    assertUnchanged: (entry) => Change.Check({ key: recordKey(key(entry.value)), expect: entry.version }),
    assertAtMost: (term, count) => Change.AtMost({ term: indexTerm(term), atMost: count }),
    get,
    pages,
    page: (partition, query) => Effect.map(pages(partition, [query]), ([page]) => page ?? { entries: [], total: 0 }),
    getByUniqueKey: Effect.fnUntraced(function* (partition, claim) {
      const store = yield* Store
      const [found] = yield* store.getByUniqueKey(partition, [uniqueKey(claim)])
      if (found === undefined) return Option.none()
      const entry = yield* decode(found.record)
      return Option.some({ entry, ...(found.parent === undefined ? {} : { parent: found.parent }) })
    }),
    versionIn,
    decode,
    parseUnchecked,
    // A body that was cut off, or was written by somebody else, is left to the parser.
    lacksField: ({ body }, field) => body.startsWith(current) && body.endsWith("}") && !body.includes(field),
    localKey: (record) => record.key.slice(name.length + 1),
    modify: (partition, key, change) =>
      retryOnConflict(
        Effect.gen(function* () {
          const store = yield* Store
          const current = yield* get(partition, key)
          if (Option.isNone(current)) return current
          const value = yield* change(current.value.value)
          const committed = yield* store.commit(partition, [put(value, current.value.version, current.value.value)])
          return Option.some({ value, version: versionIn(committed, key) })
        })
      )
  }
}
