/**
 * Stores that are each wrong in one way, as real ones have been, and the promise that must catch it.
 */
import { Change, type Partition, StoreConflict, type StoreOperations, type StorePage } from "@tollgate/core"
import { Effect } from "effect"

export interface BrokenStore {
  readonly fault: string
  /** The name of the case that states the promise. */
  readonly caughtBy: string
  readonly breaking: (sound: StoreOperations) => StoreOperations
}

type Commit = StoreOperations["commit"]
type Tagged<Tag extends Change["_tag"]> = Extract<Change, { readonly _tag: Tag }>

const withCommit =
  (commit: (sound: StoreOperations) => Commit): BrokenStore["breaking"] =>
  (sound) => ({ ...sound, commit: commit(sound) })

/** Every commit is rewritten before it is made. */
const rewriting = (rewrite: (change: Change) => ReadonlyArray<Change>): BrokenStore["breaking"] =>
  withCommit((sound) => (partition, changes, once) => sound.commit(partition, changes.flatMap(rewrite), once))

/** Something else happens after every commit that was made. */
const afterwards = (
  also: (
    sound: StoreOperations,
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>
  ) => Effect.Effect<unknown, unknown>
): BrokenStore["breaking"] =>
  withCommit(
    (sound) => (partition, changes, once) =>
      Effect.tap(sound.commit(partition, changes, once), () => Effect.ignore(also(sound, partition, changes)))
  )

const withPages =
  (alter: (page: StorePage, query: { offset: number; limit: number }) => StorePage): BrokenStore["breaking"] =>
  (sound) => ({
    ...sound,
    list: (partition, queries) =>
      Effect.map(sound.list(partition, queries), (pages) =>
        pages.map((page, index) => alter(page, queries[index] ?? { offset: 0, limit: 0 }))
      )
  })

/** Looks at what a change replaces, before it does. */
const beforehand = (sound: StoreOperations, partition: Partition.Partition, changes: ReadonlyArray<Change>) =>
  sound.get(
    partition,
    changes.flatMap((change) => ("key" in change ? [change.key] : []))
  )

/** A record in nobody's way, left to hold what should be gone. */
const ghost = (fields: Partial<Tagged<"Put">>): Change =>
  Change.Put({ key: `ghost ${Math.random()}`, expect: 0, body: "", indexTerms: [], uniqueKeys: [], ...fields })

/** Takes the version that is there for the one that was expected, for the changes in question. */
const trusting = (isAffected: (change: Tagged<"Put">) => boolean): BrokenStore["breaking"] =>
  withCommit((sound) =>
    Effect.fnUntraced(function* (partition, changes, once) {
      const before = yield* beforehand(sound, partition, changes)
      const current = new Map(before.map((record) => [record?.key, record?.version]))
      const trusted = changes.map((change) =>
        change._tag === "Put" && isAffected(change) ? { ...change, expect: current.get(change.key) ?? 0 } : change
      )
      return yield* sound.commit(partition, trusted, once)
    })
  )

/** Deletes a record, but not all of it. */
const leaving = (what: "indexTerms" | "uniqueKeys"): BrokenStore["breaking"] =>
  withCommit((sound) =>
    Effect.fnUntraced(function* (partition, changes, once) {
      const deleted = new Set(changes.flatMap((change) => (change._tag === "Delete" ? [change.key] : [])))
      const before = yield* beforehand(sound, partition, changes)
      const committed = yield* sound.commit(partition, changes, once)
      const left = before.flatMap((record) => (record && deleted.has(record.key) ? record[what] : []))
      yield* Effect.ignore(sound.commit(partition, left.length === 0 ? [] : [ghost({ [what]: left })]))
      return committed
    })
  )

/** Looks whether there is room, gives others a turn, and only then counts. */
const countsTooLate: BrokenStore["breaking"] = withCommit((sound) =>
  Effect.fnUntraced(function* (partition, changes, once) {
    const adds = changes.filter((change) => change._tag === "Add")
    const values = yield* sound.counters(
      partition,
      adds.map(({ counter }) => counter)
    )
    const full = adds.find(({ by, max = Number.MAX_SAFE_INTEGER }, index) => (values[index] ?? 0) + by > max)
    if (full !== undefined) return yield* new StoreConflict({ reason: "exceeded", subject: full.counter })
    yield* Effect.yieldNow
    const unlimited = adds.map(({ counter, by, ttl }) => Change.Add({ counter, by, ttl }))
    return yield* sound.commit(partition, [...changes.filter((change) => change._tag !== "Add"), ...unlimited], once)
  })
)

export const brokenStores: ReadonlyArray<BrokenStore> = [
  {
    fault: "an update is lost: the expected version is not looked at",
    caughtBy: "an update is refused unless it names the current version",
    breaking: trusting(({ expect }) => expect > 0)
  },
  {
    fault: "a create overwrites what exists",
    caughtBy: "a create is refused where the record exists",
    breaking: trusting(({ expect }) => expect === 0)
  },
  {
    fault: "a check is not made",
    caughtBy: "a check is refused unless the record is as expected, and changes nothing",
    breaking: rewriting((change) => (change._tag === "Check" ? [] : [change]))
  },
  {
    fault: "a claim is not released by a delete",
    caughtBy: "a delete releases the claims of the record",
    breaking: leaving("uniqueKeys")
  },
  {
    fault: "a claim is not enforced",
    caughtBy: "a claim that another record holds is refused",
    breaking: withCommit(
      (sound) => (partition, changes, once) =>
        Effect.catchIf(
          sound.commit(partition, changes, once),
          (error) => error._tag === "StoreConflict" && error.reason === "unique-key",
          () =>
            sound.commit(
              partition,
              changes.map((change) => ("uniqueKeys" in change ? { ...change, uniqueKeys: [] } : change)),
              once
            )
        )
    )
  },
  {
    fault: "the total is off by one",
    caughtBy: "the total follows creates, updates and deletes",
    breaking: withPages(({ records, total }) => ({ records, total: total - 1 }))
  },
  {
    fault: "the total is that of the page",
    caughtBy: "pages follow each other without gap or overlap, and each tells the whole total",
    breaking: withPages(({ records }) => ({ records, total: records.length }))
  },
  {
    fault: "pages overlap by one",
    caughtBy: "pages follow each other without gap or overlap, and each tells the whole total",
    breaking: (sound) => ({
      ...sound,
      list: (partition, queries) =>
        sound.list(
          partition,
          queries.map((query) => ({ ...query, offset: Math.max(0, query.offset - 1) }))
        )
    })
  },
  {
    fault: "an update moves a record to the end",
    caughtBy: "an update does not change a record's place",
    breaking: withPages(({ records, total }) => ({
      records: records.toSorted((left, right) => left.version - right.version),
      total
    }))
  },
  {
    fault: "several terms list what carries any of them",
    caughtBy: "several terms list the records that carry all of them",
    breaking: (sound) => ({
      ...sound,
      list: (partition, queries) =>
        sound.list(
          partition,
          queries.map((query) => ({ ...query, indexTerms: query.indexTerms.slice(0, 1) }))
        )
    })
  },
  {
    fault: "a term is left behind after a delete",
    caughtBy: "a deleted record leaves all its terms",
    breaking: leaving("indexTerms")
  },
  {
    fault: "a commit is applied in part",
    caughtBy: "a refused commit leaves nothing behind, whichever change was refused",
    breaking: withCommit(
      (sound) => (partition, changes, once) =>
        Effect.map(
          Effect.forEach(changes, (change) => sound.commit(partition, [change], once)),
          (all) => ({
            versions: new Map(all.flatMap(({ versions }) => [...versions])),
            totals: new Map(all.flatMap(({ totals }) => [...totals]))
          })
        )
    )
  },
  {
    fault: "a limit is not looked at",
    caughtBy: "a limit looks at how many carried the term before the commit",
    breaking: rewriting((change) => (change._tag === "AtMost" ? [] : [change]))
  },
  {
    fault: "a counter passes its maximum",
    caughtBy: "a counter reaches its maximum and never passes it",
    breaking: rewriting((change) =>
      change._tag === "Add" && change.max !== undefined ? [{ ...change, max: change.max + 1 }] : [change]
    )
  },
  {
    fault: "a counter passes its maximum when many raise it at once",
    caughtBy: "many adds reach a maximum exactly",
    breaking: countsTooLate
  },
  {
    fault: "a counter loses digits",
    caughtBy: "large counts keep every digit",
    breaking: (sound) => ({
      ...sound,
      counters: (partition, names) =>
        Effect.map(sound.counters(partition, names), (values) => values.map((value) => Number(value.toPrecision(14))))
    })
  },
  {
    fault: "a repeated id is applied twice",
    caughtBy: "the same id again changes nothing and gives what was answered",
    breaking: withCommit((sound) => (partition, changes) => sound.commit(partition, changes))
  },
  {
    fault: "a refused commit is remembered",
    caughtBy: "a refused commit is not remembered",
    breaking: withCommit(
      (sound) => (partition, changes, once) =>
        Effect.tapError(sound.commit(partition, changes, once), () => Effect.ignore(sound.commit(partition, [], once)))
    )
  },
  {
    fault: "a later, shorter time to live cuts an earlier one short",
    caughtBy: "a counter is kept for as long as was asked, also when a later one asks for less",
    breaking: (sound) => {
      const short = new Set<string>()
      return {
        ...sound,
        commit: (partition, changes, once) => {
          for (const change of changes) if (change._tag === "Add" && change.ttl < 1_000) short.add(change.counter)
          return sound.commit(partition, changes, once)
        },
        counters: (partition, names) =>
          Effect.map(sound.counters(partition, names), (values) =>
            values.map((value, index) => (short.has(names[index] ?? "") ? 0 : value))
          )
      }
    }
  },
  {
    fault: "only the last ten ids are remembered",
    caughtBy: "an id is remembered though many others came after it",
    breaking: (sound) => {
      const ids: Array<string> = []
      return {
        ...sound,
        commit: (partition, changes, once) => {
          if (once === undefined) return sound.commit(partition, changes)
          const known = ids.slice(-10).includes(once.id)
          ids.push(once.id)
          return sound.commit(partition, changes, known ? once : { ...once, id: `${once.id} ${ids.length}` })
        }
      }
    }
  },
  {
    fault: "several pages are read one after the other",
    caughtBy: "several pages, or several claims, are of one moment",
    breaking: (sound) => ({
      ...sound,
      list: (partition, queries) =>
        Effect.map(
          Effect.forEach(queries, (query) => Effect.andThen(Effect.yieldNow, sound.list(partition, [query]))),
          (pages) => pages.flat()
        ),
      commit: (partition, changes, once) => Effect.andThen(Effect.yieldNow, sound.commit(partition, changes, once))
    })
  },
  {
    fault: "a clear of many leaves one behind",
    caughtBy: "ten thousand keys, claims or counters are read in one call",
    breaking: (sound) => ({
      ...sound,
      clear: (partition) =>
        Effect.gen(function* () {
          const [kept] = yield* sound.get(partition, ["r5000"])
          yield* sound.clear(partition)
          if (kept !== undefined) yield* Effect.orDie(sound.commit(partition, [Change.Put({ ...kept, expect: 0 })]))
        })
    })
  },
  {
    fault: "a claim is found without its parent",
    caughtBy: "a claim gives the record's parent with it",
    breaking: (sound) => ({
      ...sound,
      getByUniqueKey: (partition, claims) =>
        Effect.map(sound.getByUniqueKey(partition, claims), (found) =>
          found.map((claimed) => (claimed === undefined ? undefined : { record: claimed.record }))
        )
    })
  },
  {
    fault: "a clear does nothing",
    caughtBy: "clear removes records, terms, claims, counters and remembered ids",
    breaking: (sound) => ({ ...sound, clear: () => Effect.void })
  },
  {
    fault: "versions are answered under the wrong keys",
    caughtBy: "a commit answers the versions of its puts by key and the totals of its adds by counter",
    breaking: withCommit(
      (sound) => (partition, changes, once) =>
        Effect.map(sound.commit(partition, changes, once), (committed) => {
          const keys = [...committed.versions.keys()].reverse()
          return { ...committed, versions: new Map([...committed.versions.values()].map((v, i) => [keys[i] ?? "", v])) }
        })
    )
  },
  {
    fault: "a repetition is answered under its own names",
    caughtBy: "a repetition names the records and counters of the first commit, whatever it would change itself",
    breaking: withCommit(
      (sound) => (partition, changes, once) =>
        Effect.map(sound.commit(partition, changes, once), (committed) => {
          if (committed.replayed === undefined) return committed
          const puts = changes.flatMap((change) => (change._tag === "Put" ? [change.key] : []))
          return { ...committed, versions: new Map([...committed.versions.values()].map((v, i) => [puts[i] ?? "", v])) }
        })
    )
  },
  {
    fault: "versions start again after a clear",
    caughtBy: "versions rise with every write, and one is never used again",
    breaking: (sound) => {
      const cleared = new Map<string, number>()
      const lowered = (partition: string, version: number) => version - (cleared.get(partition) ?? 0)
      return {
        ...sound,
        get: (partition, keys) =>
          Effect.map(sound.get(partition, keys), (records) =>
            records.map((record) => record && { ...record, version: lowered(partition, record.version) })
          ),
        commit: (partition, changes, once) =>
          Effect.map(sound.commit(partition, changes, once), (committed) => ({
            ...committed,
            versions: new Map([...committed.versions].map(([key, version]) => [key, lowered(partition, version)]))
          })),
        clear: (partition) =>
          Effect.gen(function* () {
            const { versions } = yield* Effect.orDie(sound.commit(partition, [ghost({})]))
            cleared.set(partition, Math.max(...versions.values()))
            yield* sound.clear(partition)
          })
      }
    }
  },
  {
    fault: "what is handed out is the store's own",
    caughtBy: "what is handed in or out is a copy",
    breaking: (sound) => {
      const own = new Map<string, Array<string>>()
      return {
        ...sound,
        get: (partition, keys) =>
          Effect.map(sound.get(partition, keys), (records) =>
            records.map((record) => {
              if (record === undefined) return undefined
              const id = `${partition} ${record.key} ${record.version}`
              const terms = own.get(id) ?? [...record.indexTerms]
              own.set(id, terms)
              return { ...record, indexTerms: terms }
            })
          )
      }
    }
  },
  {
    fault: "a body loses a character on its way",
    caughtBy: "bodies keep every digit and every character",
    breaking: rewriting((change) =>
      change._tag === "Put" ? [{ ...change, body: change.body.replaceAll("\u2028", "\n") }] : [change]
    )
  },
  {
    fault: "names are compared without regard to case",
    caughtBy: "a term is matched whole, and with regard to case",
    breaking: (sound) => ({
      ...sound,
      list: (partition, queries) =>
        sound.list(
          partition,
          queries.map((query) => ({ ...query, indexTerms: query.indexTerms.map((term) => term.toLowerCase()) }))
        ),
      commit: (partition, changes, once) =>
        sound.commit(
          partition,
          changes.map((change) =>
            change._tag === "Put"
              ? { ...change, indexTerms: change.indexTerms.map((term) => term.toLowerCase()) }
              : change
          ),
          once
        )
    })
  },
  {
    fault: "a commit is cut off at a thousand changes",
    caughtBy: "a commit of ten thousand changes is applied whole",
    breaking: withCommit(
      (sound) => (partition, changes, once) => sound.commit(partition, changes.slice(0, 1_000), once)
    )
  },
  {
    fault: "a clear also clears a neighbour",
    caughtBy: "clear leaves other partitions alone",
    breaking: (sound) => ({
      ...sound,
      clear: (partition) =>
        Effect.andThen(sound.clear(partition), sound.clear(partition.slice(0, -1) as Partition.Partition))
    })
  },
  {
    fault: "a parent is written by its child's commit",
    caughtBy: "a child that checks its parent does not change it",
    breaking: afterwards((sound, partition, changes) =>
      Effect.gen(function* () {
        const child = changes.find((change) => change._tag === "Put" && change.parent !== undefined)
        const key = child?._tag === "Put" ? child.parent : undefined
        const [parent] = key === undefined ? [] : yield* sound.get(partition, [key])
        if (parent !== undefined) yield* sound.commit(partition, [Change.Put({ ...parent, expect: parent.version })])
      })
    )
  }
]
