/**
 * Decodes and encodes the results of commits that Redis keeps for replays: a line of versions, a line of totals, both in
 * the order of the changes, and JSON.
 */
import type { CommitResult, Replay, ReplayNumbers } from "@tollgate/store"

/** The records that a commit put and the counters that it changed, in the order of its changes. */
export interface Names {
  readonly records: ReadonlyArray<string>
  readonly counters: ReadonlyArray<string>
}

/** Stored after the result. Only results with an idempotency id have names: others are read by their own commit. */
export type StoredReplay = [commitId: string, fingerprint: string, result: string, names: Names | null]

const parseNumbers = (line: string): ReadonlyArray<number> => (line === "" ? [] : line.split(" ").map(Number))

const nameNumbers = (numbers: ReadonlyArray<number>, names: ReadonlyArray<string>) =>
  numbers.map((number, index) => [names[index] ?? "", number] as const)

/** The script returns numbers in the order of the changes: a line of versions, then a line of totals. */
const parseLines = (
  result: string
): { readonly versions: ReadonlyArray<number>; readonly totals: ReadonlyArray<number> } => {
  const [versions = "", totals = ""] = result.split("\n", 2)
  return { versions: parseNumbers(versions), totals: parseNumbers(totals) }
}

export const parseCommitResult = (result: string, { records, counters }: Names): CommitResult => {
  const { versions, totals } = parseLines(result)
  return { versions: new Map(nameNumbers(versions, records)), totals: new Map(nameNumbers(totals, counters)) }
}

export const decodeReplay = (payload: string): Replay & { readonly commitId: string } => {
  const end = payload.indexOf("\n", payload.indexOf("\n") + 1)
  const [commitId, fingerprint, result, names] = JSON.parse(payload.slice(end + 1)) as StoredReplay
  const { versions, totals } = parseLines(payload)
  return {
    commitId,
    fingerprint,
    result,
    versions: nameNumbers(versions, names?.records ?? []),
    totals: nameNumbers(totals, names?.counters ?? [])
  }
}

/** Encodes a result of another store. The empty commit id is that of no commit. */
export const encodeReplay = ({ versions, totals, fingerprint, result }: Replay): string => {
  const joinNumbers = (numbers: ReplayNumbers) => numbers.map(([, number]) => number).join(" ")
  const names = { records: versions.map(([name]) => name), counters: totals.map(([name]) => name) }
  const stored: StoredReplay = ["", fingerprint, result, names]
  return `${joinNumbers(versions)}\n${joinNumbers(totals)}\n${JSON.stringify(stored)}`
}
