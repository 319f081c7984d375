/**
 * Encodes and decodes the stored result of a commit, which a repetition of that commit returns.
 */
import type { Replay } from "@tollgate/store"

export const encodeReplay = ({ versions, totals, fingerprint, result }: Replay): string =>
  JSON.stringify({ versions, totals, fingerprint, result } satisfies Replay)

export const decodeReplay = (stored: string): Replay => JSON.parse(stored)
