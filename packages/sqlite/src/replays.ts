/**
 * Encodes and decodes the stored result of a commit, which a repetition of that commit returns.
 */
import type { Change, CommitResult } from "@tollgate/core/store"

type Replayed = NonNullable<CommitResult["replayed"]>
type Numbers = ReadonlyArray<readonly [name: string, value: number]>

interface StoredReplay {
  /** Results by name. Earlier previews of 0.1 stored only numbers, in the order of the changes. */
  readonly versions: Numbers | ReadonlyArray<number>
  readonly totals: Numbers | ReadonlyArray<number>
  /** `answer` is the name of the result in the stored format. It cannot change. */
  readonly replayed: { readonly fingerprint: string; readonly answer: string }
}

export const encodeReplay = ({ versions, totals }: CommitResult, replayed: Replayed): string =>
  JSON.stringify({
    versions: [...versions],
    totals: [...totals],
    replayed: { fingerprint: replayed.fingerprint, answer: replayed.result }
  } satisfies StoredReplay)

const mapByName = (stored: StoredReplay["versions"], names: ReadonlyArray<string>): ReadonlyMap<string, number> =>
  new Map(stored.flatMap((item, index) => (typeof item === "number" ? [[names[index] ?? "", item] as const] : [item])))

/** `changes` are those of the repeated commit. They supply the names that earlier previews of 0.1 did not store. */
export const decodeStoredReplay = (stored: string, changes: ReadonlyArray<Change>): CommitResult => {
  const { versions, totals, replayed } = JSON.parse(stored) as StoredReplay
  return {
    versions: mapByName(
      versions,
      changes.flatMap((change) => (change._tag === "Put" ? [change.key] : []))
    ),
    totals: mapByName(
      totals,
      changes.flatMap((change) => (change._tag === "Add" ? [change.counter] : []))
    ),
    replayed: { fingerprint: replayed.fingerprint, result: replayed.answer }
  }
}
