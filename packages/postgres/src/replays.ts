/**
 * The results of commits that PostgreSQL keeps for replays: a JSON text, and the numbers in the order of the changes.
 */
import { type Change, isCounterChange, type ReplayEntry, type ReplayNumbers } from "@tollgate/store"
import { parseNumberArray } from "./arrayLiteral.ts"

/** What a number in the result of a commit is: the version of a record, or the total of a counter. */
export type NumberName = readonly [kind: "record" | "counter", name: string]

type ReplayContent = [id: string, fingerprint: string, result: string, names: ReadonlyArray<NumberName>]

type Replay = Omit<ReplayEntry, "_tag" | "expiresAt">

export const collectNumberNames = (changes: ReadonlyArray<Change>): ReadonlyArray<NumberName> =>
  changes.flatMap((change): ReadonlyArray<NumberName> => {
    if (change._tag === "Put") return [["record", change.key]]
    return isCounterChange(change) ? [["counter", change.counter]] : []
  })

export const encodeContent = (
  { id, fingerprint, result }: Pick<Replay, "id" | "fingerprint" | "result">,
  names: ReadonlyArray<NumberName>
): string => JSON.stringify([id, fingerprint, result, names] satisfies ReplayContent)

/** The numbers of one kind, with their names. */
const selectNumbers = (
  names: ReadonlyArray<NumberName>,
  numbers: ReadonlyArray<number>,
  selected: NumberName[0]
): ReplayNumbers =>
  names.flatMap(([kind, name], index) => (kind === selected ? [[name, numbers[index] ?? 0] as const] : []))

/** `numbers` is an array in the text format of PostgreSQL, or its numbers. */
export const decodeReplay = (content: string, numbers: string | ReadonlyArray<number>): Replay => {
  const [id, fingerprint, result, names] = JSON.parse(content) as ReplayContent
  const parsed = typeof numbers === "string" ? parseNumberArray(numbers) : numbers
  return {
    id,
    fingerprint,
    result,
    versions: selectNumbers(names, parsed, "record"),
    totals: selectNumbers(names, parsed, "counter")
  }
}

const toNames = (numbers: ReplayNumbers, kind: NumberName[0]) => numbers.map(([name]): NumberName => [kind, name])

export const encodeReplay = (replay: Replay): { readonly content: string; readonly numbers: ReadonlyArray<number> } => {
  const { versions, totals } = replay
  return {
    content: encodeContent(replay, [...toNames(versions, "record"), ...toNames(totals, "counter")]),
    numbers: [...versions, ...totals].map(([, number]) => number)
  }
}
