/**
 * The name of a request, in its answer and in every log line: the caller's own, if it is sane.
 */
import { Context, Effect } from "effect"
import { SecureRandom } from "../crypto/SecureRandom.ts"

export const RequestId = Context.Reference<string>("@tollgate/core/http/RequestId", { defaultValue: () => "" })

const isValidRequestId = (id: string): boolean => /^[\x21-\x7e]{1,128}$/.test(id)

/** The caller's own name for it, or one that nobody else has, of letters and digits. */
export const requestIdFor = (given: string | undefined, { bytes } = SecureRandom.defaultValue()): string => {
  if (given !== undefined && isValidRequestId(given)) return given
  const { buffer, byteOffset, byteLength } = bytes(11)
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex")
}

/** Logs an error under the id of the request that it belongs to, for bindings outside Effect. */
export const logRequestError = (requestId: string, message: string): void => {
  Effect.runFork(Effect.annotateLogs(Effect.logError(message), { requestId }))
}
