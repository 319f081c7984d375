/**
 * Several commits that only check and count, as one script's arguments, and the script's reply as their results. Each
 * is judged by itself, in order, and applied or refused by itself; what several rely on is looked at once.
 */
import { type Change, type CommitResult, StoreConflict } from "@tollgate/core"
import { counterMember, type Keys } from "./Keys.ts"

type CounterChange = Extract<Change, { readonly _tag: "Check" | "Add" }>
export type CounterCommit = ReadonlyArray<CounterChange>

/** Whether a commit only checks and counts, in this order: the first that cannot be is what it is refused for. */
export const isCounterOnly = (changes: ReadonlyArray<Change>): changes is CounterCommit =>
  changes.every(({ _tag }, index) => _tag === "Add" || (_tag === "Check" && changes[index - 1]?._tag !== "Add"))

const noVersions: ReadonlyMap<string, number> = new Map()

/** Gives what several commits name a number each, from 1, as Lua counts; what is expected of it is part of it. */
class Interner {
  readonly names: Array<string> = []
  readonly expected: Array<number> = []
  readonly #numbers = new Map<string, number>()

  numberOf(name: string, expected: number): number {
    const known = this.#numbers.get(name)
    if (known !== undefined && this.expected[known - 1] === expected) return known
    const number = this.names.push(name)
    this.expected.push(expected)
    this.#numbers.set(name, number)
    return number
  }
}

export const encodeCounterBatch = (keys: Keys, attempt: string, commits: ReadonlyArray<CounterCommit>) => {
  const [checks, counters] = [new Interner(), new Interner()]
  const row: Array<number> = []
  for (const commit of commits) {
    const first = row.push(0)
    for (const change of commit) if (change._tag === "Check") row.push(checks.numberOf(change.key, change.expect))
    row[first - 1] = row.length - first
    row.push(commit.length - (row.length - first))
    for (const change of commit) {
      if (change._tag !== "Add") continue
      const { counter, by, max = Number.MAX_SAFE_INTEGER, ttl } = change
      row.push(counters.numberOf(counter, 0), by, max, ttl)
    }
  }
  const counted = counters.names.map((counter) => keys.expiringKey(counterMember(counter)))

  /** What the script said of each commit. */
  const read = (reply: unknown): ReadonlyArray<CommitResult | StoreConflict> => {
    const outcomes = reply as ReadonlyArray<string | number>
    let at = 0
    return commits.map((commit): CommitResult | StoreConflict => {
      const outcome = outcomes[at++]
      if (typeof outcome === "string") {
        const number = Number(outcome.slice(1)) - 1
        return outcome.startsWith("s")
          ? new StoreConflict({ reason: "stale", subject: checks.names[number] ?? "" })
          : new StoreConflict({ reason: "exceeded", subject: counters.names[number] ?? "" })
      }
      const totals = new Map<string, number>()
      for (const change of commit) if (change._tag === "Add") totals.set(change.counter, Number(outcomes[at++]))
      return { versions: noVersions, totals }
    })
  }

  return {
    keys: [keys.records, keys.expiring, keys.attempt(attempt), ...counted],
    argument: JSON.stringify([checks.names, checks.expected, row]),
    read
  }
}
