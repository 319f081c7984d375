/**
 * Encodes several commits that only check records and add to counters as arguments of the `countBatch` script, and
 * decodes its reply. The script applies or rejects each commit independently, in order, and reads each record that
 * several commits check only once.
 */
import { type Change, type CommitResult, StoreConflict } from "@tollgate/core/store"
import { type Keys, toCounterMember } from "./Keys.ts"

type CounterChange = Extract<Change, { readonly _tag: "Check" | "Add" }>
export type CounterCommit = ReadonlyArray<CounterChange>

/** Whether a commit has only checks followed by adds. The order decides which violation a conflict reports. */
export const isCounterOnly = (changes: ReadonlyArray<Change>): changes is CounterCommit =>
  changes.every(({ _tag }, index) => _tag === "Add" || (_tag === "Check" && changes[index - 1]?._tag !== "Add"))

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

export const encodeCounterBatch = (keys: Keys, commitId: string, commits: ReadonlyArray<CounterCommit>) => {
  const [checks, counters] = [new Interner(), new Interner()]
  const numbers: Array<number> = []
  for (const commit of commits) {
    const first = numbers.push(0)
    for (const change of commit) if (change._tag === "Check") numbers.push(checks.intern(change.key, change.expect))
    numbers[first - 1] = numbers.length - first
    numbers.push(commit.length - (numbers.length - first))
    for (const change of commit) {
      if (change._tag !== "Add") continue
      const { counter, by, max = Number.MAX_SAFE_INTEGER, ttl } = change
      numbers.push(counters.intern(counter, 0), by, max, ttl)
    }
  }
  const counterKeys = counters.names.map((counter) => keys.expiringKey(toCounterMember(counter)))

  const readReply = (reply: unknown): ReadonlyArray<CommitResult | StoreConflict> => {
    const outcomes = reply as ReadonlyArray<string | number>
    let next = 0
    return commits.map((commit): CommitResult | StoreConflict => {
      const outcome = outcomes[next++]
      if (typeof outcome === "string") {
        const number = Number(outcome.slice(1)) - 1
        return outcome.startsWith("s")
          ? new StoreConflict({ reason: "stale", subject: checks.names[number] ?? "" })
          : new StoreConflict({ reason: "counter-exceeded", subject: counters.names[number] ?? "" })
      }
      const totals = new Map<string, number>()
      for (const change of commit) if (change._tag === "Add") totals.set(change.counter, Number(outcomes[next++]))
      return { versions: noVersions, totals }
    })
  }

  return {
    keys: [keys.records, keys.expiring, keys.commitReplay(commitId), ...counterKeys],
    argument: JSON.stringify([checks.names, checks.expected, numbers]),
    readReply
  }
}
