/**
 * Decodes what the function `tollgate_commit` returns.
 */
import { type Change, type CommitResult, StoreConflict, toReplayedResult } from "@tollgate/store"
import { parseNumberArray } from "./arrayLiteral.ts"
import { UnexpectedResponse } from "./classifyError.ts"
import type { Row } from "./Database.ts"
import { collectNumberNames, decodeReplay, type NumberName } from "./replays.ts"
import { outcomes } from "./sql/commitFunction.ts"

type Result = CommitResult | StoreConflict

const toResult = (names: ReadonlyArray<NumberName>, numbers: ReadonlyArray<number>): CommitResult => {
  const [versions, totals] = [new Map<string, number>(), new Map<string, number>()]
  for (const [index, [kind, name]] of names.entries()) {
    ;(kind === "record" ? versions : totals).set(name, numbers[index] ?? 0)
  }
  return { versions, totals }
}

const conflictReasons: ReadonlyMap<number, StoreConflict["reason"]> = new Map([
  [outcomes.stale, "stale"],
  [outcomes.uniqueKey, "unique-key"],
  [outcomes.tooManyRecords, "too-many-records"],
  [outcomes.counterExceeded, "counter-exceeded"],
  [outcomes.rateLimited, "rate-limited"]
])

const getSubject = (change: Change, uniqueKey: number): string | undefined => {
  if (uniqueKey > 0 && change._tag === "Put") return change.uniqueKeys[uniqueKey - 1]
  if ("counter" in change) return change.counter
  return change._tag === "AtMost" ? change.term : change.key
}

/** Reads the numbers one after another. */
class NumberReader {
  readonly #numbers: ReadonlyArray<number>
  #next = 0

  constructor(numbers: ReadonlyArray<number>) {
    this.#numbers = numbers
  }

  read(): number {
    const [number] = this.readSlice(1)
    if (number === undefined) throw new UnexpectedResponse("it ends too early")
    return number
  }

  readSlice(count: number): ReadonlyArray<number> {
    this.#next += count
    return this.#numbers.slice(this.#next - count, this.#next)
  }
}

const decodeConflict = (outcome: number, changes: ReadonlyArray<Change>, numbers: NumberReader): StoreConflict => {
  const change = changes[numbers.read() - 1]
  const uniqueKey = outcome === outcomes.uniqueKey ? numbers.read() : 0
  const retryAfter = outcome === outcomes.rateLimited ? numbers.read() : 0
  const reason = conflictReasons.get(outcome)
  const subject = change && getSubject(change, uniqueKey)
  if (reason === undefined || subject === undefined) throw new UnexpectedResponse("its conflict is unknown")
  return new StoreConflict({ reason, subject, retryAfter })
}

/** `commits` are the changes of each commit of the batch. */
export const decodeOutcomes = (
  row: Row | undefined,
  commits: ReadonlyArray<ReadonlyArray<Change>>
): ReadonlyArray<Result> => {
  const [outcomeNumbers, replays] = row ?? []
  // The function ignores a batch that a later one of this store has overtaken.
  const numbers = new NumberReader(parseNumberArray(outcomeNumbers ?? "{}"))
  const contents: Array<string> = replays == null ? [] : JSON.parse(replays)

  return commits.map((changes): Result => {
    const outcome = numbers.read()
    if (outcome === outcomes.applied) {
      const names = collectNumberNames(changes)
      return toResult(names, numbers.readSlice(names.length))
    }
    if (outcome !== outcomes.replayed) return decodeConflict(outcome, changes, numbers)
    return toReplayedResult(decodeReplay(contents.shift() ?? "", numbers.readSlice(numbers.read())))
  })
}
