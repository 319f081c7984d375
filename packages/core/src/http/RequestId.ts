/**
 * The name of a request, in its answer and in every log line: the caller's own, if it is sane.
 */
import { Context } from "effect"
import type { Entropy } from "../shared/Entropy.ts"

export const RequestId = Context.Reference<string>("@tollgate/core/http/RequestId", { defaultValue: () => "" })

export const isSane = (id: string): boolean => /^[\x21-\x7e]{1,128}$/.test(id)

/** One that nobody else has, of letters and digits. */
export const drawn = ({ bytes }: typeof Entropy.Service): string => {
  const { buffer, byteOffset, byteLength } = bytes(11)
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex")
}
