/**
 * A commit as the script's keys and arguments, and the script's reply as a result.
 */
import { type Change, type CommitResult, type IdempotencyRecord, StoreConflict, type StoreRecord } from "@tollgate/core"
import { counterMember, type Keys, replayMember } from "./Keys.ts"
import { encodeKeyOwner, encodeRecordBody } from "./recordCodec.ts"

/** Long enough for the retries of a commit whose reply was lost. */
export const attemptTtl = 30_000

type Argument = string | number

export interface CommitRequest {
  /** Tells this commit's own earlier attempt from somebody else's commit under the same `once` id. */
  readonly attempt: string
  readonly keys: ReadonlyArray<string>
  readonly arguments: ReadonlyArray<Argument>
}

/** The records that a commit replaces or deletes: what they are listed by and claim must be known beforehand. */
export const replacedKeys = (changes: ReadonlyArray<Change>): ReadonlyArray<string> =>
  changes.flatMap((change) =>
    (change._tag === "Put" || change._tag === "Delete") && change.expect > 0 ? [change.key] : []
  )

/** What a commit puts and what it counts, in the order of its changes. */
interface Names {
  readonly records: ReadonlyArray<string>
  readonly counters: ReadonlyArray<string>
}

const collectNames = (changes: ReadonlyArray<Change>): Names => ({
  records: changes.flatMap((change) => (change._tag === "Put" ? [change.key] : [])),
  counters: changes.flatMap((change) => (change._tag === "Add" ? [change.counter] : []))
})

export const makeCommitRequest = (
  keys: Keys,
  attempt: string,
  changes: ReadonlyArray<Change>,
  once: IdempotencyRecord | undefined,
  existing: ReadonlyMap<string, StoreRecord>
): CommitRequest => {
  const replayKey = once === undefined ? keys.attempt(attempt) : keys.expiringKey(replayMember(once.id))
  const declared = [keys.records, keys.claims, keys.sequence, keys.expiring, replayKey]
  const numbers = new Map<string, number>()
  const numberOf = (key: string): number => {
    const known = numbers.get(key)
    if (known !== undefined) return known
    const number = declared.push(key)
    numbers.set(key, number)
    return number
  }
  const remembered = JSON.stringify([
    attempt,
    once?.fingerprint ?? "",
    once?.result ?? "",
    once && collectNames(changes)
  ])
  const args: Array<Argument> = [
    remembered,
    once?.ttl ?? attemptTtl,
    once === undefined ? "" : replayMember(once.id),
    changes.length
  ]
  const names = (items: ReadonlyArray<Argument>) => {
    args.push(items.length)
    for (const item of items) args.push(item)
  }
  const terms = (items: ReadonlyArray<string>) => names(items.map((item) => numberOf(keys.term(item))))

  for (const change of changes) {
    switch (change._tag) {
      case "Put": {
        const before = existing.get(change.key)
        args.push("P", change.key, change.expect)
        terms((before?.indexTerms ?? []).filter((term) => !change.indexTerms.includes(term)))
        names(before?.uniqueKeys ?? [])
        args.push(encodeRecordBody(change), encodeKeyOwner(change.key, change.parent))
        terms(change.indexTerms.filter((term) => before?.indexTerms.includes(term) !== true))
        names(change.uniqueKeys)
        break
      }
      case "Delete": {
        const before = existing.get(change.key)
        args.push("D", change.key, change.expect)
        terms(before?.indexTerms ?? [])
        names(before?.uniqueKeys ?? [])
        break
      }
      case "Check":
        args.push("C", change.key, change.expect)
        break
      case "AtMost":
        args.push("L", numberOf(keys.term(change.term)), change.atMost, change.term)
        break
      case "Add":
        args.push(
          "A",
          numberOf(keys.expiringKey(counterMember(change.counter))),
          change.by,
          change.max ?? Number.MAX_SAFE_INTEGER,
          change.ttl,
          change.counter
        )
        break
    }
  }
  return { attempt, keys: declared, arguments: args }
}

const parseNumbers = (text: string): ReadonlyArray<number> => (text === "" ? [] : text.split(" ").map(Number))

const byName = (names: ReadonlyArray<string>, numbers: ReadonlyArray<number>): ReadonlyMap<string, number> =>
  new Map(numbers.map((number, index) => [names[index] ?? "", number]))

/** The script answers numbers in the order of the changes: versions, then totals. */
const parseCommitResult = (result: string, { records, counters }: Names): CommitResult => {
  const [versions = "", totals = ""] = result.split("\n", 2)
  return { versions: byName(records, parseNumbers(versions)), totals: byName(counters, parseNumbers(totals)) }
}

/** What is remembered behind a result. Releases before 0.2 kept no names: those of the repeated commit stand in. */
type StoredReplay = [attempt: string, fingerprint: string, result: string, names?: Names | null]

export const readReply = (
  reply: unknown,
  attempt: string,
  changes: ReadonlyArray<Change>
): CommitResult | StoreConflict => {
  const [outcome, text] = reply as ["done" | "seen" | StoreConflict["reason"], string]
  if (outcome === "done") return parseCommitResult(text, collectNames(changes))
  if (outcome !== "seen") return new StoreConflict({ reason: outcome, subject: text })
  const end = text.indexOf("\n", text.indexOf("\n") + 1)
  const [by, fingerprint, result, names] = JSON.parse(text.slice(end + 1)) as StoredReplay
  const committed = parseCommitResult(text, names ?? collectNames(changes))
  return by === attempt ? committed : { ...committed, replayed: { fingerprint, result } }
}
