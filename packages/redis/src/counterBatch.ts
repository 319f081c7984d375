/**
 * Encodes several commits that only check records and change counters as arguments of the `countBatch` script, and
 * decodes its reply. The script applies or rejects each commit independently, in order, and reads each record that
 * several commits check only once.
 */
import { type Change, type CommitResult, type CounterChange, isCounterChange, StoreConflict } from "@tollgate/store"
import { toNumbers } from "./CommitRequest.ts"
import { type Keys, toCounterMember } from "./Keys.ts"

type Check = Extract<Change, { readonly _tag: "Check" }>
export type CounterCommit = ReadonlyArray<Check | CounterChange>

const isCheck = (change: Change | undefined): change is Check => change?._tag === "Check"

/** Whether a commit has only checks of records followed by counter changes. The order decides which conflict is reported. */
export const isCounterOnly = (changes: ReadonlyArray<Change>): changes is CounterCommit =>
  changes.every(
    (change, index) => isCounterChange(change) || (isCheck(change) && (index === 0 || isCheck(changes[index - 1])))
  )

/** The bound of a change in the script: 0 or more for an add, -1 for a raise, lower for a take. */
const toScriptBound = ({ _tag }: CounterChange, bound: number): number =>
  _tag === "Add" ? bound : _tag === "Raise" ? -1 : -1 - bound

const conflictReasons: Record<string, StoreConflict["reason"]> = {
  s: "stale",
  e: "counter-exceeded",
  r: "rate-limited"
}

const noVersions: ReadonlyMap<string, number> = new Map()

/** Assigns a number to each distinct name and expected version. Numbers start at 1, as in Lua. */
class Interner {
  readonly names: Array<string> = []
  readonly expected: Array<number> = []
  readonly #numbers = new Map<string, number>()

  intern(name: string, expected: number): number {
    const existing = this.#numbers.get(name)
    if (existing !== undefined && this.expected[existing - 1] === expected) return existing
    const number = this.names.push(name)
    this.expected.push(expected)
    this.#numbers.set(name, number)
    return number
  }
}

/** The kinds of counter changes in a batch: amount, bound and TTL of each. Most commits of a batch are alike. */
class Kinds {
  readonly numbers: Array<number> = []
  /** The positions of the kinds that the latest commits had, by the index of the change. */
  readonly #latest: Array<number> = []

  /** Returns the position of a kind. Kinds are shared with the change at the same index of an earlier commit. */
  add(index: number, amount: number, bound: number, ttl: number): number {
    const latest = this.#latest[index] ?? 0
    const { numbers } = this
    if (numbers[latest - 1] === amount && numbers[latest] === bound && numbers[latest + 1] === ttl) return latest
    const position = numbers.push(amount, bound, ttl) - 2
    this.#latest[index] = position
    return position
  }
}

export const encodeCounterBatch = (keys: Keys, commitId: string, commits: ReadonlyArray<CounterCommit>) => {
  const [checks, counters, kinds] = [new Interner(), new Interner(), new Kinds()]
  const [checkNumbers, counterNumbers]: [Array<number>, Array<number>] = [[], []]
  for (const commit of commits) {
    let index = 0
    const firstChange = commit.findIndex((change) => !isCheck(change))
    const checkCount = firstChange === -1 ? commit.length : firstChange
    checkNumbers.push(checkCount)
    counterNumbers.push(commit.length - checkCount)
    for (const change of commit) {
      if (isCheck(change)) checkNumbers.push(checks.intern(change.key, change.expect))
      else {
        const { amount, bound } = toNumbers(change)
        const kind = kinds.add(index++, amount, toScriptBound(change, bound), change.ttl)
        counterNumbers.push(counters.intern(change.counter, 0), kind)
      }
    }
  }
  const counterKeys = counters.names.map((counter) => keys.expiringKey(toCounterMember(counter)))

  const readReply = (reply: unknown): ReadonlyArray<CommitResult | StoreConflict> => {
    const outcomes = reply as ReadonlyArray<string | number>
    let next = 0
    return commits.map((commit): CommitResult | StoreConflict => {
      const outcome = outcomes[next++]
      if (typeof outcome === "string") {
        const [number = 0, retryAfter = 0] = outcome.slice(1).split(" ").map(Number)
        const reason = conflictReasons[outcome.charAt(0)] ?? "stale"
        const { names } = reason === "stale" ? checks : counters
        return new StoreConflict({ reason, subject: names[number - 1] ?? "", retryAfter })
      }
      const totals = new Map<string, number>()
      for (const change of commit) if (!isCheck(change)) totals.set(change.counter, Number(outcomes[next++]))
      return { versions: noVersions, totals }
    })
  }

  return {
    keys: [keys.records, keys.expiring, keys.commitReplay(commitId), ...counterKeys],
    arguments: [
      JSON.stringify([checks.names, checks.expected, kinds.numbers, counterNumbers]),
      JSON.stringify(checkNumbers)
    ],
    readReply
  }
}
