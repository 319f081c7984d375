/**
 * Encodes a commit as the keys and arguments of the `commit` script, and decodes the script's reply.
 */
import {
  type Change,
  type CommitResult,
  type CounterChange,
  type IdempotencyRecord,
  isCounterChange,
  StoreConflict,
  type StoreRecord,
  toReplayedResult
} from "@tollgate/store"
import { type Keys, toCounterMember, toReplayMember } from "./Keys.ts"
import { encodeOwner, encodeRecordBody } from "./recordCodec.ts"
import { decodeReplay, type Names, parseCommitResult, type StoredReplay } from "./replays.ts"

/**
 * Milliseconds for which Redis keeps the id of a commit. Must exceed the time for which a commit with a lost reply is
 * retried.
 */
export const commitIdTtl = 30_000

type Argument = string | number

/** The caller's time in microseconds, or `undefined` to use the server's. */
export type CallerTime = number | undefined

const counterLetters = { Add: "A", Raise: "R", Take: "T" } as const

/** A counter change as two numbers: an amount, and the bound that its value must not exceed. */
export const toNumbers = (change: CounterChange): { readonly amount: number; readonly bound: number } => {
  switch (change._tag) {
    case "Add":
      return { amount: change.by, bound: change.max ?? Number.MAX_SAFE_INTEGER }
    case "Raise":
      return { amount: change.to, bound: 0 }
    case "Take":
      return { amount: change.cost * change.interval, bound: change.burst * change.interval }
  }
}

export interface CommitRequest {
  /** Distinguishes a retry of this commit from another commit with the same idempotency id. */
  readonly commitId: string
  readonly keys: ReadonlyArray<string>
  readonly arguments: ReadonlyArray<Argument>
}

/**
 * The records that a commit replaces or deletes. The script needs their index terms and unique keys. Read before the
 * script runs; safe, because the script rejects the commit as stale if a record has changed.
 */
export const collectReplacedKeys = (changes: ReadonlyArray<Change>): ReadonlyArray<string> =>
  changes.flatMap((change) =>
    (change._tag === "Put" || change._tag === "Delete") && change.expect > 0 ? [change.key] : []
  )

const collectNames = (changes: ReadonlyArray<Change>): Names => ({
  records: changes.flatMap((change) => (change._tag === "Put" ? [change.key] : [])),
  counters: changes.flatMap((change) => (isCounterChange(change) ? [change.counter] : []))
})

type Put = Extract<Change, { readonly _tag: "Put" }>

/** Whether a script needs the key of search terms. During the migration of a slot, a cluster rejects one that does not exist. */
const changesSearchTerms = (changes: ReadonlyArray<Change>, existing: ReadonlyMap<string, StoreRecord>): boolean =>
  [...existing.values()].some(({ searchTerms }) => searchTerms !== undefined) ||
  changes.some((change) => change._tag === "Put" && change.searchTerms !== undefined)

export const makeCommitRequest = (
  keys: Keys,
  commitId: string,
  changes: ReadonlyArray<Change>,
  idempotency: IdempotencyRecord | undefined,
  existing: ReadonlyMap<string, StoreRecord>,
  time: CallerTime
): CommitRequest => {
  const replayKey =
    idempotency === undefined ? keys.commitReplay(commitId) : keys.expiringKey(toReplayMember(idempotency.id))
  const scriptKeys = [keys.records, keys.uniqueKeys, keys.sequence, keys.expiring, replayKey]
  const positions = new Map<string, number>()
  /** The position of a key in KEYS, which Lua counts from 1. */
  const declareKey = (key: string): number => {
    const existing = positions.get(key)
    if (existing !== undefined) return existing
    const position = scriptKeys.push(key)
    positions.set(key, position)
    return position
  }
  const replay: StoredReplay = [
    commitId,
    idempotency?.fingerprint ?? "",
    idempotency?.result ?? "",
    idempotency === undefined ? null : collectNames(changes)
  ]
  const args: Array<Argument> = [
    JSON.stringify(replay),
    idempotency?.ttl ?? commitIdTtl,
    idempotency === undefined ? "" : toReplayMember(idempotency.id),
    time ?? "",
    changesSearchTerms(changes, existing) ? declareKey(keys.search) : 0,
    changes.length
  ]
  const pushList = (items: ReadonlyArray<Argument>) => {
    args.push(items.length)
    for (const item of items) args.push(item)
  }
  const pushTerms = (items: ReadonlyArray<string>) => pushList(items.map((item) => declareKey(keys.term(item))))

  /** A member contains the key of the parent. While that stays the same, members of terms that stay do too. */
  const pushRemovedSearchTerms = (previous: StoreRecord | undefined, next?: Put) => {
    const kept = previous?.parent === next?.parent ? next?.searchTerms : undefined
    pushList((previous?.searchTerms ?? []).filter((term) => kept?.includes(term) !== true))
    args.push(previous === undefined ? "" : encodeOwner(previous.key, previous.parent))
  }

  const declareCounter = (counter: string) => declareKey(keys.expiringKey(toCounterMember(counter)))

  for (const change of changes) {
    switch (change._tag) {
      case "Put": {
        const previous = existing.get(change.key)
        args.push("P", change.key, change.expect)
        pushTerms((previous?.indexTerms ?? []).filter((term) => !change.indexTerms.includes(term)))
        pushList(previous?.uniqueKeys ?? [])
        pushRemovedSearchTerms(previous, change)
        args.push(encodeRecordBody(change), encodeOwner(change.key, change.parent))
        pushTerms(change.indexTerms.filter((term) => previous?.indexTerms.includes(term) !== true))
        pushList(change.uniqueKeys)
        pushList(change.searchTerms ?? [])
        break
      }
      case "Delete": {
        const previous = existing.get(change.key)
        args.push("D", change.key, change.expect)
        pushTerms(previous?.indexTerms ?? [])
        pushList(previous?.uniqueKeys ?? [])
        pushRemovedSearchTerms(previous)
        break
      }
      case "Check":
        args.push("C", change.key, change.expect)
        break
      case "AtMost":
        args.push("L", declareKey(keys.term(change.term)), change.atMost, change.term)
        break
      case "CheckCounter":
        args.push("E", declareCounter(change.counter), change.expect, change.counter)
        break
      default: {
        const { amount, bound } = toNumbers(change)
        const key = declareCounter(change.counter)
        args.push(counterLetters[change._tag], key, amount, bound, change.ttl, change.counter)
      }
    }
  }
  return { commitId, keys: scriptKeys, arguments: args }
}

type Reply =
  | readonly [outcome: "done" | "replay", result: string]
  | readonly [reason: StoreConflict["reason"], subject: string, retryAfter?: string]

export const readCommitReply = (
  reply: unknown,
  commitId: string,
  changes: ReadonlyArray<Change>
): CommitResult | StoreConflict => {
  const [outcome, payload, retryAfter = 0] = reply as Reply
  if (outcome === "done") return parseCommitResult(payload, collectNames(changes))
  if (outcome !== "replay") {
    return new StoreConflict({ reason: outcome, subject: payload, retryAfter: Number(retryAfter) })
  }
  const { commitId: storedCommitId, ...replay } = decodeReplay(payload)
  return storedCommitId === commitId ? parseCommitResult(payload, collectNames(changes)) : toReplayedResult(replay)
}
