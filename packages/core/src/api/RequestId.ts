/**
 * The ID of a request, sent in `X-Request-Id` and added to every log line: the client's ID if valid, otherwise generated.
 */

import { SecureRandom } from "@tollgate/store/internal"
import { Context } from "effect"

export const RequestId = Context.Reference<string>("@tollgate/core/api/RequestId", { defaultValue: () => "" })

const isValidRequestId = (id: string): boolean => /^[\x21-\x7e]{1,128}$/.test(id)

/** Returns the client's request ID if it is valid; otherwise generates a random one of 22 hexadecimal digits. */
export const resolveRequestId = (clientId: string | undefined, { bytes } = SecureRandom.defaultValue()): string => {
  if (clientId !== undefined && isValidRequestId(clientId)) return clientId
  const { buffer, byteOffset, byteLength } = bytes(11)
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex")
}
