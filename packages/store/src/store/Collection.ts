/**
 * A typed view of one kind of record in a partition. It defines how a value is encoded, its index terms, its search terms,
 * its unique keys and its parent. Reads return entries, which are values with a version. Writes return changes, which the caller
 * commits together with the changes of other collections.
 *
 * @example
 * ```ts
 * const users = Collection.make({
 *   name: "user",
 *   format: 1,
 *   schema: User,
 *   key: (user) => user.name,
 *   indexTerms: (user) => [`team:${user.team}`],
 *   uniqueKeys: (user) => [`email:${user.email}`]
 * })
 *
 * yield* store.commit(partition, [users.insert(alice)])
 * const page = yield* users.page(partition, { where: ["team:blue"], offset: 0, limit: 10 })
 * yield* users.modify(partition, "alice", (user) => Effect.succeed({ ...user, team: "red" }))
 * ```
 */
import { Effect, Option, Schema, Stream } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { deepFreeze } from "../runtime/deepFreeze.ts"
import { forEachInPieces } from "../runtime/turns.ts"
import { skipChecks } from "../schema/skipChecks.ts"
import { copyUnknownFields } from "./copyUnknownFields.ts"
import { withGrowth } from "./growth.ts"
import type { Partition } from "./Partition.ts"
import { retryOnConflict } from "./retryOnConflict.ts"
import { Change, type CommitResult, Store, type StoreRecord } from "./Store.ts"
import { previewData, RecordUnreadable, type StoreConflict, type StoreUnavailable } from "./StoreError.ts"

/** A stored value and its version. */
export interface Entry<A> {
  readonly value: A
  readonly version: number
}

/** A page of the records of a collection. */
export interface EntryPage<A> {
  readonly entries: ReadonlyArray<Entry<A>>
  readonly total: number
  /** The place of the last entry, if more match after it. */
  readonly next?: number | undefined
}

/** Selects the entries that have all the index terms in `where`, or all entries if `where` is empty. */
export interface EntryQuery {
  readonly where?: ReadonlyArray<string>
  readonly offset: number
  readonly limit: number
  /** Accepts fewer than `limit` entries although there are more, if they are large: for lists that callers page through. */
  readonly mayEndEarly?: boolean | undefined
  /** Newest first instead of oldest first. */
  readonly descending?: boolean | undefined
  /** Begins after this place, the `next` of an earlier page in the same order. */
  readonly after?: number | undefined
}

export interface CollectionOptions<A, I> {
  /** Prefix of every record key, index term and unique key, so that collections can share a partition. */
  readonly name: string
  /** The format of bodies, from 1. Increase it when older versions of Tollgate cannot read the new bodies. */
  readonly format: number
  readonly schema: Schema.Codec<A, I>
  /** Encodes a value as the schema does, but faster, for records that are written often. */
  readonly encode?: (value: A) => I
  readonly key: (value: A) => string
  readonly indexTerms?: (value: A) => ReadonlyArray<string>
  readonly searchTerms?: (value: A) => ReadonlyArray<string>
  readonly uniqueKeys?: (value: A) => ReadonlyArray<string>
  /** The full key of the parent record, for example `parents.recordKey(name)`. */
  readonly parent?: (value: A) => string
  /**
   * Whether the records count towards the bytes of their account. Default: `true`. Not those of events, which removals write
   * too, and those that decisions write: they are never refused, and have other bounds.
   */
  readonly countsBytes?: boolean
}

type CollectionReadError = StoreUnavailable | RecordUnreadable

export interface Collection<A, I = unknown> {
  /** The key in the store for one of this collection's keys. */
  readonly recordKey: (key: string) => string
  /**
   * The index term in the store for one of this collection's terms; without an argument, the term of all its values.
   */
  readonly indexTerm: (term?: string) => string
  /** The search term in the store for one of this collection's search terms, or the prefix for the beginning of one. */
  readonly searchTerm: (term: string) => string
  /** The unique key in the store for one of this collection's unique keys. */
  readonly uniqueKey: (key: string) => string

  /** A change that inserts a new value. The commit fails if its key exists. */
  readonly insert: (value: A) => Change
  /** A change that replaces an entry with a value that has the same key. */
  readonly replace: (entry: Entry<A>, value: A) => Change
  readonly remove: (entry: Entry<A>) => Change
  /** A precondition: the commit fails if the entry has changed since it was read. */
  readonly assertUnchanged: (entry: Entry<A>) => Change
  /** A precondition: the commit fails if more than `count` values have the term, or exist if `term` is `undefined`. */
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
  /**
   * All entries of a query, read in pages of `pageSize` as they are needed. Entries that are created, changed or removed
   * meanwhile neither hide nor repeat others.
   */
  readonly stream: (
    partition: Partition,
    query: Omit<EntryQuery, "offset" | "limit"> & { readonly pageSize: number }
  ) => Stream.Stream<Entry<A>, CollectionReadError, Store>
  /** The entry with this unique key, and its parent's record, which the parent's collection can decode. */
  readonly getByUniqueKey: (
    partition: Partition,
    uniqueKey: string
  ) => Effect.Effect<
    Option.Option<{ readonly entry: Entry<A>; readonly parent?: StoreRecord }>,
    CollectionReadError,
    Store
  >
  /** The version of a value after a commit; 0 if the commit did not write it. */
  readonly getVersion: (commitResult: CommitResult, key: string) => number
  readonly decode: (record: StoreRecord) => Effect.Effect<Entry<A>, RecordUnreadable>
  /** Parses a body without validating it, for hot paths where decoding is too slow. */
  readonly parseUnchecked: (record: StoreRecord) => I | RecordUnreadable
  /** Whether the body certainly contains none of these fields. Does not parse the body. */
  readonly lacksFields: (record: StoreRecord, fields: ReadonlyArray<string>) => boolean
  /** A record's key within this collection. */
  readonly keyInCollection: (record: StoreRecord) => string

  /**
   * Replaces a value with the result of `change`. Reads and computes again after a conflicting write; fails with a
   * stale `StoreConflict` when all attempts conflict. Returns none if the value does not exist.
   */
  readonly modify: <E, R>(
    partition: Partition,
    key: string,
    change: (value: A) => Effect.Effect<A, E, R>
  ) => Effect.Effect<Option.Option<Entry<A>>, E | CollectionReadError | StoreConflict, R | Store>
}

/** Limits of a collection's cache of decoded values, in characters of their bodies. */
const maxCachedTotal = 1_000_000
const maxCachedBody = 4_096

/** Previews of 0.1, which were never published, wrote bodies with these numbers. Formats count from the next one. */
const previewFormats = 3

export const make = <A, I>(options: CollectionOptions<A, I>): Collection<A, I> => {
  const { name, key, indexTerms, searchTerms, uniqueKeys, parent, countsBytes = true } = options
  const format = previewFormats + options.format
  const json = Schema.fromJsonString(options.schema)
  const encode = options.encode ?? Schema.encodeSync(options.schema, skipChecks)
  const encodeBody = (value: A): string => JSON.stringify(encode(value))
  const decodeBody = Schema.decodeUnknownEffect(json)

  /** Every body starts with its format. Those that this version reads, the oldest first. */
  const formatPrefixes = Array.from({ length: options.format }, (_, index) => `${previewFormats + index + 1} `)
  const hasKnownFormat = (body: string): boolean => {
    for (const prefix of formatPrefixes) if (body.startsWith(prefix)) return true
    return false
  }

  const recordKey = (key: string) => `${name}/${key}`
  const indexTerm = (term?: string) => (term === undefined ? name : `${name}/${term}`)
  const searchTerm = (term: string) => `${name}/${term}`
  const uniqueKey = (key: string) => `${name}/${key}`

  /**
   * The body of each decoded value. Fields that this version does not know are copied from it when a value is replaced.
   */
  const bodies = new WeakMap<object, string>()

  const toBody = (value: A, previous: A | undefined): string => {
    const body = encodeBody(value)
    const previousBody = typeof previous === "object" && previous !== null ? bodies.get(previous) : undefined
    if (previousBody === undefined || previous === undefined) return `${format} ${body}`
    const previousDecoded = encodeBody(previous)
    const previousStored = previousBody.slice(previousBody.indexOf(" ") + 1)
    return previousStored === previousDecoded
      ? `${format} ${body}`
      : `${format} ${copyUnknownFields(body, previousDecoded, previousStored)}`
  }

  /** The size of a stored value. */
  const measureStored = (value: A): number => {
    const body = typeof value === "object" && value !== null ? bodies.get(value) : undefined
    return Buffer.byteLength(body ?? `${format} ${encodeBody(value)}`)
  }

  const toSearchTerms = (value: A) => {
    const terms = searchTerms?.(value) ?? []
    return terms.length === 0 ? {} : { searchTerms: terms.map(searchTerm) }
  }

  const put = (value: A, expect: number, previous?: A): Change => {
    const body = toBody(value, previous)
    const change = Change.Put({
      key: recordKey(key(value)),
      expect,
      body,
      indexTerms: [indexTerm(), ...(indexTerms?.(value) ?? []).map(indexTerm)],
      uniqueKeys: (uniqueKeys?.(value) ?? []).map(uniqueKey),
      ...toSearchTerms(value),
      ...(parent === undefined ? {} : { parent: parent(value) })
    })
    if (!countsBytes) return change
    return withGrowth(change, Buffer.byteLength(body) - (previous === undefined ? 0 : measureStored(previous)))
  }

  const remove = (entry: Entry<A>): Change => {
    const change = Change.Delete({ key: recordKey(key(entry.value)), expect: entry.version })
    return countsBytes ? withGrowth(change, -measureStored(entry.value)) : change
  }

  const unreadable = (record: StoreRecord, problem: string) => new RecordUnreadable({ key: record.key, problem })

  /** The body without its format. Fails if this version of Tollgate does not read the format. */
  const getContent = (record: StoreRecord): string | RecordUnreadable => {
    const end = record.body.indexOf(" ")
    if (hasKnownFormat(record.body)) return record.body.slice(end + 1)
    const writtenFormat = Number(record.body.slice(0, end))
    if (end < 1 || !Number.isSafeInteger(writtenFormat)) return unreadable(record, "its body has no format version")
    return unreadable(
      record,
      writtenFormat > format
        ? `it was written in format ${writtenFormat} by a newer version of Tollgate, and this version reads up to ${format}; ` +
            "upgrade this process"
        : `${previewData.problem}. ${previewData.remedy}`
    )
  }

  const decodedValues = new BoundedMap<string, A>(maxCachedTotal, (_, body) => body.length)

  /** Decodes a record. Caches the value by its body: equal bodies have equal values. */
  const decode = (record: StoreRecord): Effect.Effect<Entry<A>, RecordUnreadable> => {
    const cached = decodedValues.get(record.body)
    if (cached !== undefined) return Effect.succeed({ value: cached, version: record.version })
    const content = getContent(record)
    if (typeof content !== "string") return Effect.fail(content)
    return decodeBody(content).pipe(
      // The schema issue is dropped: it quotes the body, which may contain secrets.
      Effect.mapError(() => unreadable(record, "its body does not match its schema")),
      Effect.map((value) => {
        if (typeof value === "object" && value !== null) bodies.set(value, record.body)
        if (record.body.length <= maxCachedBody) decodedValues.set(record.body, deepFreeze(value))
        return { value, version: record.version }
      })
    )
  }

  const parseUnchecked = (record: StoreRecord): I | RecordUnreadable => {
    const content = getContent(record)
    return typeof content === "string" ? JSON.parse(content) : content
  }

  const toStoreQuery = ({ where, mayEndEarly: _, ...rest }: EntryQuery) => ({
    indexTerms: where === undefined || where.length === 0 ? [indexTerm()] : where.map(indexTerm),
    ...rest
  })

  const get: Collection<A>["get"] = Effect.fnUntraced(function* (partition, key) {
    const store = yield* Store
    const [record] = yield* store.get(partition, [recordKey(key)])
    return record === undefined ? Option.none() : Option.some(yield* decode(record))
  })

  const pages: Collection<A>["pages"] = Effect.fnUntraced(function* (partition, queries) {
    const store = yield* Store
    const storePages = yield* store.list(partition, queries.map(toStoreQuery))
    return yield* Effect.forEach(storePages, ({ records, ...page }, index) =>
      Effect.flatMap(forEachInPieces(records, decode), (entries) =>
        complete(partition, queries[index], { entries, ...page })
      )
    )
  })

  /** Reads the rest of a page that the store has ended early. */
  const complete = Effect.fnUntraced(function* (
    partition: Partition,
    query: EntryQuery | undefined,
    start: EntryPage<A>
  ): Effect.fn.Return<EntryPage<A>, CollectionReadError, Store> {
    const missing = (query?.limit ?? 0) - start.entries.length
    if (query === undefined || query.mayEndEarly === true || start.next === undefined || missing === 0) return start
    const rest = yield* page(partition, { ...query, offset: 0, limit: missing, after: start.next })
    return { ...rest, entries: [...start.entries, ...rest.entries] }
  })

  const page: Collection<A>["page"] = (partition, query) =>
    Effect.map(pages(partition, [query]), ([page]) => page ?? { entries: [], total: 0 })

  const getVersion = ({ versions }: CommitResult, key: string): number => versions.get(recordKey(key)) ?? 0

  return {
    recordKey,
    indexTerm,
    searchTerm,
    uniqueKey,
    insert: (value) => put(value, 0),
    replace: (entry, value) => put(value, entry.version, entry.value),
    remove,
    assertUnchanged: (entry) => Change.Check({ key: recordKey(key(entry.value)), expect: entry.version }),
    assertAtMost: (term, count) => Change.AtMost({ term: indexTerm(term), atMost: count }),
    get,
    pages,
    page,
    stream: (partition, { pageSize: limit, ...query }) =>
      Stream.paginate(query.after, (after) =>
        Effect.map(page(partition, { ...query, offset: 0, limit, after, mayEndEarly: true }), ({ entries, next }) => [
          entries,
          Option.fromNullishOr(next)
        ])
      ),
    getByUniqueKey: Effect.fnUntraced(function* (partition, key) {
      const store = yield* Store
      const [match] = yield* store.getByUniqueKey(partition, [uniqueKey(key)])
      if (match === undefined) return Option.none()
      const entry = yield* decode(match.record)
      return Option.some({ entry, ...(match.parent === undefined ? {} : { parent: match.parent }) })
    }),
    getVersion,
    decode,
    parseUnchecked,
    // A truncated body, or one without a known prefix, may still contain the field: the caller must parse it.
    lacksFields: ({ body }, fields) => {
      for (const field of fields) if (body.includes(field)) return false
      return hasKnownFormat(body) && body.endsWith("}")
    },
    keyInCollection: (record) => record.key.slice(name.length + 1),
    modify: (partition, key, change) =>
      retryOnConflict(
        Effect.gen(function* () {
          const store = yield* Store
          const current = yield* get(partition, key)
          if (Option.isNone(current)) return current
          const value = yield* change(current.value.value)
          const commitResult = yield* store.commit(partition, [put(value, current.value.version, current.value.value)])
          return Option.some({ value, version: getVersion(commitResult, key) })
        })
      )
  }
}
