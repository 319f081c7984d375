import { Data } from "effect"
import type { CommitResult, StoreRecord } from "./StoreOperations.ts"

/** The versions or the totals of a commit with an idempotency id, by the names of the records or counters. */
export type ReplayNumbers = ReadonlyArray<readonly [name: string, value: number]>

/** One entry of a partition. Times are milliseconds since the epoch. */
export type StoreEntry = Data.TaggedEnum<{
  /** The partition's sequence number: that of its last write, which no later version repeats. */
  Sequence: { readonly value: number }
  /** A record with its version. */
  Record: { readonly record: StoreRecord }
  /** A counter or a rate limit. */
  Counter: { readonly name: string; readonly value: number; readonly expiresAt: number }
  /** The result of a commit with an idempotency id. */
  Replay: {
    readonly id: string
    readonly fingerprint: string
    readonly result: string
    readonly versions: ReplayNumbers
    readonly totals: ReplayNumbers
    readonly expiresAt: number
  }
}>

export const StoreEntry = Data.taggedEnum<StoreEntry>()

/** The entry of a counter or a rate limit. */
export type CounterEntry = Extract<StoreEntry, { readonly _tag: "Counter" }>
/** The entry of a commit with an idempotency id. */
export type ReplayEntry = Extract<StoreEntry, { readonly _tag: "Replay" }>

/** What a store keeps of a commit with an idempotency id. */
export type Replay = Omit<ReplayEntry, "_tag" | "id" | "expiresAt">

/** What a repeated commit returns. */
export const toReplayedResult = ({ versions, totals, fingerprint, result }: Replay): CommitResult => ({
  versions: new Map(versions),
  totals: new Map(totals),
  replayed: { fingerprint, result }
})
