/**
 * Stores that each violate the contract in one way, and the case that must detect it.
 */
import {
  Change,
  compareCodePoints,
  type Partition,
  type SearchMatch,
  type SearchQuery,
  StoreConflict,
  type StoreOperations,
  type StorePage,
  type StoreQuery
} from "@tollgate/store"
import { Effect } from "effect"

export interface BrokenStore {
  readonly fault: string
  /** The name of the contract case that detects the fault. */
  readonly caughtBy: string
  readonly breakStore: (inner: StoreOperations) => StoreOperations
}

type Commit = StoreOperations["commit"]
type Tagged<Tag extends Change["_tag"]> = Extract<Change, { readonly _tag: Tag }>

const replaceCommit =
  (commit: (inner: StoreOperations) => Commit): BrokenStore["breakStore"] =>
  (inner) => ({ ...inner, commit: commit(inner) })

/** Rewrites the changes of every commit. */
const rewriteChanges = (rewrite: (change: Change) => ReadonlyArray<Change>): BrokenStore["breakStore"] =>
  replaceCommit(
    (inner) => (partition, changes, idempotency) => inner.commit(partition, changes.flatMap(rewrite), idempotency)
  )

/** Runs another effect after every successful commit. */
const afterCommit = (
  effect: (
    inner: StoreOperations,
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>
  ) => Effect.Effect<unknown, unknown>
): BrokenStore["breakStore"] =>
  replaceCommit(
    (inner) => (partition, changes, idempotency) =>
      Effect.tap(inner.commit(partition, changes, idempotency), () => Effect.ignore(effect(inner, partition, changes)))
  )

const mapPages =
  (alter: (page: StorePage, query: StoreQuery) => StorePage): BrokenStore["breakStore"] =>
  (inner) => ({
    ...inner,
    list: (partition, queries) =>
      Effect.map(inner.list(partition, queries), (pages) =>
        pages.map((page, index) => alter(page, queries[index] ?? { indexTerms: [], offset: 0, limit: 0 }))
      )
  })

const mapQueries =
  (alter: (query: StoreQuery) => StoreQuery): BrokenStore["breakStore"] =>
  (inner) => ({ ...inner, list: (partition, queries) => inner.list(partition, queries.map(alter)) })

const mapSearches =
  (
    alter: (matches: ReadonlyArray<SearchMatch>, query: SearchQuery) => ReadonlyArray<SearchMatch>
  ): BrokenStore["breakStore"] =>
  (inner) => ({
    ...inner,
    search: (partition, queries) =>
      Effect.map(inner.search(partition, queries), (found) =>
        found.map((matches, index) => alter(matches, queries[index] ?? { prefix: "", limit: 0 }))
      )
  })

/** Finds more than the prefix, of all terms of the partition. */
const searchAll =
  (matches: (term: string, query: SearchQuery) => boolean): BrokenStore["breakStore"] =>
  (inner) => ({
    ...inner,
    search: (partition, queries) =>
      Effect.map(inner.search(partition, [{ prefix: "", limit: 1_000_000 }]), ([all = []]) =>
        queries.map((query) =>
          all
            .filter(
              ({ term }) =>
                matches(term, query) && (query.after === undefined || compareCodePoints(term, query.after) > 0)
            )
            .slice(0, query.limit)
        )
      )
  })

/** Reads the records that a commit replaces. */
const readReplaced = (inner: StoreOperations, partition: Partition.Partition, changes: ReadonlyArray<Change>) =>
  inner.get(
    partition,
    changes.flatMap((change) => ("key" in change ? [change.key] : []))
  )

/** A record that keeps index terms or unique keys that should have been removed. */
const makeLeftover = (fields: Partial<Tagged<"Put">>): Change =>
  Change.Put({ key: `leftover ${Math.random()}`, expect: 0, body: "", indexTerms: [], uniqueKeys: [], ...fields })

/** Replaces the expected version of the affected puts by the current one. */
const ignoreExpected = (isAffected: (change: Tagged<"Put">) => boolean): BrokenStore["breakStore"] =>
  replaceCommit((inner) =>
    Effect.fnUntraced(function* (partition, changes, idempotency) {
      const replaced = yield* readReplaced(inner, partition, changes)
      const current = new Map(replaced.map((record) => [record?.key, record?.version]))
      const rewritten = changes.map((change) =>
        change._tag === "Put" && isAffected(change) ? { ...change, expect: current.get(change.key) ?? 0 } : change
      )
      return yield* inner.commit(partition, rewritten, idempotency)
    })
  )

/** Deletes a record, but keeps its index terms, its search terms or its unique keys. */
const keepAfterDelete = (field: "indexTerms" | "searchTerms" | "uniqueKeys"): BrokenStore["breakStore"] =>
  replaceCommit((inner) =>
    Effect.fnUntraced(function* (partition, changes, idempotency) {
      const deleted = new Set(changes.flatMap((change) => (change._tag === "Delete" ? [change.key] : [])))
      const replaced = yield* readReplaced(inner, partition, changes)
      const result = yield* inner.commit(partition, changes, idempotency)
      const leftovers = replaced.flatMap((record) => (record && deleted.has(record.key) ? (record[field] ?? []) : []))
      yield* Effect.ignore(
        inner.commit(partition, leftovers.length === 0 ? [] : [makeLeftover({ [field]: leftovers })])
      )
      return result
    })
  )

/** Checks the maximum, yields to other fibers, and then adds without checking again. */
const checkMaximumEarly: BrokenStore["breakStore"] = replaceCommit((inner) =>
  Effect.fnUntraced(function* (partition, changes, idempotency) {
    const adds = changes.filter((change) => change._tag === "Add")
    const values = yield* inner.counters(
      partition,
      adds.map(({ counter }) => counter)
    )
    const full = adds.find(({ by, max = Number.MAX_SAFE_INTEGER }, index) => (values[index] ?? 0) + by > max)
    if (full !== undefined) return yield* new StoreConflict({ reason: "counter-exceeded", subject: full.counter })
    yield* Effect.yieldNow
    const unlimited = adds.map(({ counter, by, ttl }) => Change.Add({ counter, by, ttl }))
    return yield* inner.commit(
      partition,
      [...changes.filter((change) => change._tag !== "Add"), ...unlimited],
      idempotency
    )
  })
)

const inCodePoints = "terms are in the order of their code points, and prefixes have no wildcards"
const replaced = "a replaced record has only its new terms, and a deleted one none"
const findsPrefix = "a search finds the terms that begin with its prefix, with their records"

const brokenSearches: ReadonlyArray<BrokenStore> = [
  {
    fault: "search terms are found whole only",
    caughtBy: findsPrefix,
    breakStore: mapSearches((matches, { prefix }) => matches.filter(({ term }) => term === prefix))
  },
  {
    fault: "a search ignores case",
    caughtBy: findsPrefix,
    breakStore: searchAll((term, { prefix }) => term.toLowerCase().startsWith(prefix.toLowerCase()))
  },
  {
    fault: "a match lacks the parent of its record",
    caughtBy: findsPrefix,
    breakStore: mapSearches((matches) => matches.map(({ parent: _, ...match }) => match))
  },
  {
    fault: "search terms are in the order of their UTF-16 code units",
    caughtBy: inCodePoints,
    breakStore: mapSearches((matches) =>
      matches.toSorted((left, right) => (left.term === right.term ? 0 : left.term < right.term ? -1 : 1))
    )
  },
  {
    fault: "an underscore in a prefix stands for any character",
    caughtBy: inCodePoints,
    breakStore: searchAll((term, { prefix }) =>
      Array.from(prefix).every((character, index) => character === "_" || Array.from(term)[index] === character)
    )
  },
  {
    fault: "a percent sign in a prefix stands for anything",
    caughtBy: inCodePoints,
    breakStore: searchAll((term, { prefix }) => term.startsWith(prefix.split("%", 1)[0] ?? ""))
  },
  {
    fault: "terms after the Basic Multilingual Plane are not found by shorter prefixes",
    caughtBy: inCodePoints,
    breakStore: mapSearches((matches, { prefix }) =>
      matches.filter(({ term }) => compareCodePoints(term, `${prefix}\uffff`) < 0)
    )
  },
  {
    fault: "a search begins with the term after which it begins",
    caughtBy: inCodePoints,
    breakStore: (inner) => ({
      ...inner,
      search: (partition, queries) =>
        Effect.map(inner.search(partition, [{ prefix: "", limit: 1_000_000 }]), ([all = []]) =>
          queries.map(({ prefix, limit, after = prefix }) =>
            all.filter(({ term }) => term.startsWith(prefix) && compareCodePoints(term, after) >= 0).slice(0, limit)
          )
        )
    })
  },
  {
    fault: "records with the same search term are found oldest first",
    caughtBy: "records with the same term are found newest first",
    breakStore: mapSearches((matches) =>
      matches.toSorted((left, right) => compareCodePoints(left.term, right.term) || left.place - right.place)
    )
  },
  {
    fault: "an update moves a record to the front of its search terms",
    caughtBy: "records with the same term are found newest first",
    breakStore: (inner) => ({
      ...inner,
      search: Effect.fnUntraced(function* (partition, queries) {
        const found = yield* inner.search(partition, queries)
        const records = yield* inner.get(
          partition,
          found.flatMap((matches) => matches.map(({ key }) => key))
        )
        const versions = new Map(records.map((record) => [record?.key, record?.version ?? 0]))
        const getVersion = ({ key }: SearchMatch) => versions.get(key) ?? 0
        return found.map((matches) =>
          matches.toSorted(
            (left, right) => compareCodePoints(left.term, right.term) || getVersion(right) - getVersion(left)
          )
        )
      })
    })
  },
  {
    fault: "an update keeps the former search terms",
    caughtBy: replaced,
    breakStore: replaceCommit((inner) =>
      Effect.fnUntraced(function* (partition, changes, idempotency) {
        const former = yield* readReplaced(inner, partition, changes)
        const terms = new Map(former.map((record) => [record?.key, record?.searchTerms ?? []]))
        const kept = changes.map((change) => {
          if (change._tag !== "Put") return change
          const searchTerms = [...new Set([...(change.searchTerms ?? []), ...(terms.get(change.key) ?? [])])]
          return searchTerms.length === 0 ? change : { ...change, searchTerms }
        })
        return yield* inner.commit(partition, kept, idempotency)
      })
    )
  },
  { fault: "a delete keeps the search terms", caughtBy: replaced, breakStore: keepAfterDelete("searchTerms") },
  {
    fault: "an update does not change search terms",
    caughtBy: replaced,
    breakStore: replaceCommit((inner) =>
      Effect.fnUntraced(function* (partition, changes, idempotency) {
        const former = yield* readReplaced(inner, partition, changes)
        const terms = new Map(
          former.flatMap((record) => (record === undefined ? [] : [[record.key, record.searchTerms]]))
        )
        const kept = changes.map((change) => {
          if (change._tag !== "Put" || !terms.has(change.key)) return change
          const { searchTerms: _, ...rest } = change
          const searchTerms = terms.get(change.key)
          return searchTerms === undefined ? rest : { ...rest, searchTerms }
        })
        return yield* inner.commit(partition, kept, idempotency)
      })
    )
  },
  {
    fault: "a search sees the partitions whose names begin with that of its own",
    caughtBy: "queries of one call are independent, and see only their partition",
    breakStore: (inner) => {
      const partitions = new Set<Partition.Partition>()
      return {
        ...inner,
        commit: (partition, changes, idempotency) => {
          partitions.add(partition)
          return inner.commit(partition, changes, idempotency)
        },
        search: (partition, queries) =>
          Effect.map(
            Effect.forEach(
              [partition, ...[...partitions].filter((name) => name !== partition && name.startsWith(partition))],
              (name) => inner.search(name, queries)
            ),
            (found) => queries.map((_, index) => found.flatMap((matches) => matches[index] ?? []))
          )
      }
    }
  },
  {
    fault: "a limit is that of all queries of a call",
    caughtBy: "queries of one call are independent, and see only their partition",
    breakStore: (inner) => ({
      ...inner,
      search: (partition, queries) => {
        const limit = Math.min(...queries.map(({ limit }) => limit))
        return inner.search(
          partition,
          queries.map((query) => ({ ...query, limit }))
        )
      }
    })
  },
  {
    fault: "a search finds at most a thousand terms",
    caughtBy: "many records with a common beginning are found completely, and page after page",
    breakStore: mapSearches((matches) => matches.slice(0, 1_000))
  },
  {
    fault: "search terms are truncated",
    caughtBy: "a record may have 64 terms of 256 UTF-16 code units",
    breakStore: rewriteChanges((change) =>
      change._tag === "Put" && change.searchTerms !== undefined
        ? [{ ...change, searchTerms: [...new Set(change.searchTerms.map((term) => term.slice(0, 200)))] }]
        : [change]
    )
  }
]

export const brokenStores: ReadonlyArray<BrokenStore> = [
  ...brokenSearches,
  {
    fault: "an update ignores the expected version",
    caughtBy: "an update conflicts unless it expects the current version",
    breakStore: ignoreExpected(({ expect }) => expect > 0)
  },
  {
    fault: "a create overwrites an existing record",
    caughtBy: "a create conflicts with an existing record",
    breakStore: ignoreExpected(({ expect }) => expect === 0)
  },
  {
    fault: "checks are ignored",
    caughtBy: "a check conflicts unless the record has the expected version, and changes nothing",
    breakStore: rewriteChanges((change) => (change._tag === "Check" ? [] : [change]))
  },
  {
    fault: "a delete does not free the unique keys",
    caughtBy: "a delete frees the unique keys of the record",
    breakStore: keepAfterDelete("uniqueKeys")
  },
  {
    fault: "unique keys are not enforced",
    caughtBy: "a unique key of another record conflicts",
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) =>
        Effect.catchIf(
          inner.commit(partition, changes, idempotency),
          (error) => error._tag === "StoreConflict" && error.reason === "unique-key",
          () =>
            inner.commit(
              partition,
              changes.map((change) => ("uniqueKeys" in change ? { ...change, uniqueKeys: [] } : change)),
              idempotency
            )
        )
    )
  },
  {
    fault: "the total is off by one",
    caughtBy: "the total reflects creates, updates and deletes",
    breakStore: mapPages(({ records, total }) => ({ records, total: total - 1 }))
  },
  {
    fault: "the total is the size of the page",
    caughtBy: "consecutive pages have no gap or overlap, and each has the overall total",
    breakStore: mapPages(({ records }) => ({ records, total: records.length }))
  },
  {
    fault: "pages overlap by one",
    caughtBy: "consecutive pages have no gap or overlap, and each has the overall total",
    breakStore: mapQueries((query) => ({ ...query, offset: Math.max(0, query.offset - 1) }))
  },
  {
    fault: "a full last page has a next",
    caughtBy: "next leads from page to page, and only the last page has none",
    breakStore: mapPages((page, { limit }) =>
      page.records.length === limit ? { next: Number.MAX_SAFE_INTEGER, ...page } : page
    )
  },
  {
    fault: "a list by many terms counts only what its page needs",
    caughtBy: "a list of many records by many terms is complete, on every page",
    breakStore: mapPages((page, { indexTerms, offset }) =>
      indexTerms.length < 50 || page.next === undefined
        ? page
        : { ...page, total: Math.min(page.total, offset + page.records.length + 1) }
    )
  },
  {
    fault: "a page that ends early has no next",
    caughtBy: "a page of large records has fewer than its limit, and next leads on",
    breakStore: mapPages(({ next, ...page }, { limit }) =>
      next === undefined || page.records.length < limit ? page : { ...page, next }
    )
  },
  {
    fault: "a page has all records of its limit, however large they are",
    caughtBy: "a page of large records has fewer than its limit, and next leads on",
    breakStore: (inner) => ({
      ...inner,
      list: (partition, queries) =>
        Effect.flatMap(inner.list(partition, queries), (pages) =>
          Effect.forEach(pages, (page, index) => {
            const query = queries[index]
            if (query === undefined || page.next === undefined || page.records.length === query.limit)
              return Effect.succeed(page)
            const limit = query.limit - page.records.length
            return Effect.map(
              inner.list(partition, [{ ...query, offset: 0, limit, after: page.next }]),
              ([rest = page]) => ({ ...rest, records: [...page.records, ...rest.records] })
            )
          })
        )
    })
  },
  {
    fault: "a page after another starts from the beginning",
    caughtBy: "a page after another has the overall total, and its offset counts from there",
    breakStore: mapQueries(({ after: _, ...query }) => query)
  },
  {
    fault: "a page after another counts only the rest",
    caughtBy: "a page after another has the overall total, and its offset counts from there",
    breakStore: mapPages((page, { after, offset }) =>
      after === undefined ? page : { ...page, total: page.records.length + offset }
    )
  },
  {
    fault: "next is an offset",
    caughtBy: "records that are removed, updated or created while paging neither hide nor repeat others",
    breakStore: (inner) => ({
      ...inner,
      list: (partition, queries) =>
        Effect.map(
          inner.list(
            partition,
            queries.map(({ after = 0, offset, ...query }) => ({ ...query, offset: offset + after }))
          ),
          (pages) =>
            pages.map(({ next, ...page }, index) => {
              const { after = 0, offset = 0 } = queries[index] ?? {}
              return next === undefined ? page : { ...page, next: after + offset + page.records.length }
            })
        )
    })
  },
  {
    fault: "an update moves a record to the end",
    caughtBy: "an update does not change a record's position",
    breakStore: mapPages(({ records, total }) => ({
      records: records.toSorted((left, right) => left.version - right.version),
      total
    }))
  },
  {
    fault: "a query with several terms uses only the first",
    caughtBy: "a query with several terms lists the records that have all of them",
    breakStore: mapQueries((query) => ({ ...query, indexTerms: query.indexTerms.slice(0, 1) }))
  },
  {
    fault: "a delete keeps the index terms",
    caughtBy: "a deleted record is removed from all its terms",
    breakStore: keepAfterDelete("indexTerms")
  },
  {
    fault: "a commit is applied partially",
    caughtBy: "a rejected commit changes nothing, whichever change conflicts",
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) =>
        Effect.map(
          Effect.forEach(changes, (change) => inner.commit(partition, [change], idempotency)),
          (all) => ({
            versions: new Map(all.flatMap(({ versions }) => [...versions])),
            totals: new Map(all.flatMap(({ totals }) => [...totals]))
          })
        )
    )
  },
  {
    fault: "AtMost is ignored",
    caughtBy: "AtMost counts the records that had the term before the commit",
    breakStore: rewriteChanges((change) => (change._tag === "AtMost" ? [] : [change]))
  },
  {
    fault: "a counter exceeds its maximum",
    caughtBy: "a counter reaches its maximum and never exceeds it",
    breakStore: rewriteChanges((change) =>
      change._tag === "Add" && change.max !== undefined ? [{ ...change, max: change.max + 1 }] : [change]
    )
  },
  {
    fault: "a counter exceeds its maximum under concurrent adds",
    caughtBy: "concurrent adds reach a maximum exactly",
    breakStore: checkMaximumEarly
  },
  {
    fault: "a counter loses digits",
    caughtBy: "large counter values are exact",
    breakStore: (inner) => ({
      ...inner,
      counters: (partition, names) =>
        Effect.map(inner.counters(partition, names), (values) => values.map((value) => Number(value.toPrecision(14))))
    })
  },
  {
    fault: "a repeated id is applied twice",
    caughtBy: "a repeated id changes nothing and returns the first result",
    breakStore: replaceCommit((inner) => (partition, changes) => inner.commit(partition, changes))
  },
  {
    fault: "a rejected commit uses up its id",
    caughtBy: "a rejected commit does not use up its id",
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) =>
        Effect.tapError(inner.commit(partition, changes, idempotency), () =>
          Effect.ignore(inner.commit(partition, [], idempotency))
        )
    )
  },
  {
    fault: "a shorter time to live replaces a longer one",
    caughtBy: "a counter keeps its time to live when a later add has a shorter one",
    breakStore: (inner) => {
      const short = new Set<string>()
      return {
        ...inner,
        commit: (partition, changes, idempotency) => {
          for (const change of changes) if (change._tag === "Add" && change.ttl < 1_000) short.add(change.counter)
          return inner.commit(partition, changes, idempotency)
        },
        counters: (partition, names) =>
          Effect.map(inner.counters(partition, names), (values) =>
            values.map((value, index) => (short.has(names[index] ?? "") ? 0 : value))
          )
      }
    }
  },
  {
    fault: "only the last ten ids are remembered",
    caughtBy: "an id is remembered after many other ids",
    breakStore: (inner) => {
      const ids: Array<string> = []
      return {
        ...inner,
        commit: (partition, changes, idempotency) => {
          if (idempotency === undefined) return inner.commit(partition, changes)
          const isRecent = ids.slice(-10).includes(idempotency.id)
          ids.push(idempotency.id)
          return inner.commit(
            partition,
            changes,
            isRecent ? idempotency : { ...idempotency, id: `${idempotency.id} ${ids.length}` }
          )
        }
      }
    }
  },
  {
    fault: "several pages are read one after the other",
    caughtBy: "several pages or unique keys are read from one snapshot",
    breakStore: (inner) => ({
      ...inner,
      list: (partition, queries) =>
        Effect.map(
          Effect.forEach(queries, (query) => Effect.andThen(Effect.yieldNow, inner.list(partition, [query]))),
          (pages) => pages.flat()
        ),
      commit: (partition, changes, idempotency) =>
        Effect.andThen(Effect.yieldNow, inner.commit(partition, changes, idempotency))
    })
  },
  {
    fault: "clear skips a record of a large partition",
    caughtBy: "one call reads ten thousand keys, unique keys or counters",
    breakStore: (inner) => ({
      ...inner,
      clear: (partition) =>
        Effect.gen(function* () {
          const [skipped] = yield* inner.get(partition, ["r5000"])
          yield* inner.clear(partition)
          if (skipped !== undefined)
            yield* Effect.orDie(inner.commit(partition, [Change.Put({ ...skipped, expect: 0 })]))
        })
    })
  },
  {
    fault: "a lookup by unique key omits the parent",
    caughtBy: "a lookup by unique key returns the record and its parent",
    breakStore: (inner) => ({
      ...inner,
      getByUniqueKey: (partition, uniqueKeys) =>
        Effect.map(inner.getByUniqueKey(partition, uniqueKeys), (owners) =>
          owners.map((owner) => (owner === undefined ? undefined : { record: owner.record }))
        )
    })
  },
  {
    fault: "clear does nothing",
    caughtBy: "clear removes records, index terms, unique keys, counters and idempotency records",
    breakStore: (inner) => ({ ...inner, clear: () => Effect.void })
  },
  {
    fault: "versions are returned under the wrong keys",
    caughtBy: "a commit returns the versions of its puts by key and the totals of its adds by counter",
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) =>
        Effect.map(inner.commit(partition, changes, idempotency), (result) => {
          const keys = [...result.versions.keys()].reverse()
          return { ...result, versions: new Map([...result.versions.values()].map((v, i) => [keys[i] ?? "", v])) }
        })
    )
  },
  {
    fault: "a replay returns the names of the repeated commit",
    caughtBy: "a replay returns the record and counter names of the first commit",
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) =>
        Effect.map(inner.commit(partition, changes, idempotency), (result) => {
          if (result.replayed === undefined) return result
          const puts = changes.flatMap((change) => (change._tag === "Put" ? [change.key] : []))
          return { ...result, versions: new Map([...result.versions.values()].map((v, i) => [puts[i] ?? "", v])) }
        })
    )
  },
  {
    fault: "versions restart after clear",
    caughtBy: "versions increase with every write and are never reused",
    breakStore: (inner) => {
      const cleared = new Map<string, number>()
      const lower = (partition: string, version: number) => version - (cleared.get(partition) ?? 0)
      return {
        ...inner,
        get: (partition, keys) =>
          Effect.map(inner.get(partition, keys), (records) =>
            records.map((record) => record && { ...record, version: lower(partition, record.version) })
          ),
        commit: (partition, changes, idempotency) =>
          Effect.map(inner.commit(partition, changes, idempotency), (result) => ({
            ...result,
            versions: new Map([...result.versions].map(([key, version]) => [key, lower(partition, version)]))
          })),
        clear: (partition) =>
          Effect.gen(function* () {
            const { versions } = yield* Effect.orDie(inner.commit(partition, [makeLeftover({})]))
            cleared.set(partition, Math.max(...versions.values()))
            yield* inner.clear(partition)
          })
      }
    }
  },
  {
    fault: "results share arrays with the store",
    caughtBy: "the store copies its inputs and its results",
    breakStore: (inner) => {
      const shared = new Map<string, Array<string>>()
      return {
        ...inner,
        get: (partition, keys) =>
          Effect.map(inner.get(partition, keys), (records) =>
            records.map((record) => {
              if (record === undefined) return undefined
              const id = `${partition} ${record.key} ${record.version}`
              const terms = shared.get(id) ?? [...record.indexTerms]
              shared.set(id, terms)
              return { ...record, indexTerms: terms }
            })
          )
      }
    }
  },
  {
    fault: "a body loses a character",
    caughtBy: "bodies are stored exactly",
    breakStore: rewriteChanges((change) =>
      change._tag === "Put" ? [{ ...change, body: change.body.replaceAll("\u2028", "\n") }] : [change]
    )
  },
  {
    fault: "index terms are compared case-insensitively",
    caughtBy: "a term matches exactly and case-sensitively",
    breakStore: (inner) => ({
      ...inner,
      list: (partition, queries) =>
        inner.list(
          partition,
          queries.map((query) => ({ ...query, indexTerms: query.indexTerms.map((term) => term.toLowerCase()) }))
        ),
      commit: (partition, changes, idempotency) =>
        inner.commit(
          partition,
          changes.map((change) =>
            change._tag === "Put"
              ? { ...change, indexTerms: change.indexTerms.map((term) => term.toLowerCase()) }
              : change
          ),
          idempotency
        )
    })
  },
  {
    fault: "a commit is truncated to a thousand changes",
    caughtBy: "a commit of ten thousand changes is applied completely",
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) => inner.commit(partition, changes.slice(0, 1_000), idempotency)
    )
  },
  {
    fault: "clear also clears another partition",
    caughtBy: "clear does not affect other partitions",
    breakStore: (inner) => ({
      ...inner,
      clear: (partition) =>
        Effect.andThen(inner.clear(partition), inner.clear(partition.slice(0, -1) as Partition.Partition))
    })
  },
  {
    fault: "a commit of a child also writes its parent",
    caughtBy: "a child that checks its parent does not change it",
    breakStore: afterCommit((inner, partition, changes) =>
      Effect.gen(function* () {
        const child = changes.find((change) => change._tag === "Put" && change.parent !== undefined)
        const key = child?._tag === "Put" ? child.parent : undefined
        const [parent] = key === undefined ? [] : yield* inner.get(partition, [key])
        if (parent !== undefined) yield* inner.commit(partition, [Change.Put({ ...parent, expect: parent.version })])
      })
    )
  }
]
