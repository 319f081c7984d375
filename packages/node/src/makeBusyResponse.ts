import { ServerBusy } from "@tollgate/core"
import { encodeProblem, resolveRequestId, type TransportResponse } from "@tollgate/core/internal"

/** The response to a request that is not served because too many wait. It is made without the services. */
export const makeBusyResponse = (requestId: string | undefined): TransportResponse => {
  const error = new ServerBusy()
  const instance = resolveRequestId(requestId)
  const body = JSON.stringify(encodeProblem(error, instance))
  return {
    status: error.status,
    headers: {
      "content-type": "application/problem+json",
      "content-length": String(Buffer.byteLength(body)),
      "retry-after": "1",
      "x-request-id": instance
    },
    body
  }
}
