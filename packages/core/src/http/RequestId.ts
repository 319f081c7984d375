/**
 * The ID of a request, sent in `X-Request-Id` and added to every log line: the client's ID if valid, otherwise generated.
 */
import { Context, Effect } from "effect"
import { SecureRandom } from "../crypto/SecureRandom.ts"

export const RequestId = Context.Reference<string>("@tollgate/core/http/RequestId", { defaultValue: () => "" })

const isValidRequestId = (id: string): boolean => /^[\x21-\x7e]{1,128}$/.test(id)

/** Returns the client's request ID if it is valid; otherwise generates a random one of 22 hexadecimal digits. */
export const resolveRequestId = (clientId: string | undefined, { bytes } = SecureRandom.defaultValue()): string => {
  if (clientId !== undefined && isValidRequestId(clientId)) return clientId
  const { buffer, byteOffset, byteLength } = bytes(11)
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex")
}

/** Logs an error with its request ID, for framework bindings that do not run in Effect. */
export const logRequestError = (context: Context.Context<never>, requestId: string, message: string): void => {
  Effect.runForkWith(context)(Effect.annotateLogs(Effect.logError(message), { requestId }))
}
