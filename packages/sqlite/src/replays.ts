/**
 * Encodes and decodes the stored result of a commit, which a repetition of that commit returns.
 */
import {
  type Change,
  type CommitResult,
  type ReplayEntry,
  type ReplayNumbers,
  toReplayedResult
} from "@tollgate/core/store"

export type Replay = Omit<ReplayEntry, "_tag" | "id" | "expiresAt">

interface StoredReplay {
  readonly versions: ReplayNumbers
  readonly totals: ReplayNumbers
  /** `answer` is the name of the result in the stored format. It cannot change. */
  readonly replayed: { readonly fingerprint: string; readonly answer: string }
}

export const encodeReplay = ({ versions, totals, fingerprint, result }: Replay): string =>
  JSON.stringify({ versions, totals, replayed: { fingerprint, answer: result } } satisfies StoredReplay)

export const decodeReplay = (stored: string): Replay => {
  const { versions, totals, replayed } = JSON.parse(stored) as StoredReplay
  return { versions, totals, fingerprint: replayed.fingerprint, result: replayed.answer }
}

/** `changes` are those of the repeated commit. */
export const toCommitResult = (stored: string, changes: ReadonlyArray<Change>): CommitResult => {
  const { fingerprint, result, ...numbers } = decodeReplay(stored)
  return { ...toReplayedResult(numbers, changes), replayed: { fingerprint, result } }
}
