/**
 * Sends one message to the endpoint of a tenant. The endpoint is hostile: it must not make the server connect to an
 * address that was not checked, wait longer than the timeout, or read more than the limits.
 */
import type { request as requestHttp } from "node:http"
import { isIP, type LookupFunction } from "node:net"
import { Effect } from "effect"
import { describeSendFailure } from "./describeSendFailure.ts"
import type { ResolverBusy } from "./ResolutionError.ts"
import { resolveTarget, type WebhookTarget } from "./resolveTarget.ts"
import { WebhookSendError } from "./WebhookSendError.ts"

/** For resolution, connection, TLS handshake, and the whole response. */
const timeoutSeconds = 15

const maxResponseBytes = 64 * 1024

/** Informational responses, such as 103, are free for the endpoint to send and useless here. */
const maxInformational = 10

/** Time for one of several addresses to accept the connection, before the next is tried. */
const addressTimeoutMs = 2_000

export interface WebhookRequest {
  readonly url: string
  /** `webhook-id`, `webhook-timestamp` and `webhook-signature`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowPrivateNetworks: boolean
}

export interface WebhookResponse {
  /** Redirects are not followed: 301 is the result, like any other status. */
  readonly statusCode: number
  /** The value of the header `Retry-After`. */
  readonly retryAfter?: string | undefined
}

/** Gives the checked addresses to the socket instead of resolving the name again, which could give others. */
const makeLookup =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_host, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) }))
    )

/**
 * Without an agent each request has a connection of its own, so that no socket or TLS session outlives the check of its
 * address, and proxies of the environment are not used.
 */
const makeOptions = (addresses: ReadonlyArray<string>, { headers, body }: WebhookRequest) => ({
  method: "POST",
  agent: false,
  lookup: makeLookup(addresses),
  // With this, the socket asks `lookup` for all addresses, whatever the default of the process is.
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: addressTimeoutMs,
  headers: {
    ...headers,
    "content-type": "application/json",
    "user-agent": "Tollgate-Webhooks/1",
    "content-length": Buffer.byteLength(body)
  }
})

/** Imports it when a message is sent: an import of `node:http` also loads all of `fetch`, which would delay the start. */
const importRequest = (url: URL): Effect.Effect<typeof requestHttp> =>
  Effect.promise(async () => (await import(url.protocol === "https:" ? "node:https" : "node:http")).request)

const post = (
  open: typeof requestHttp,
  { url, addresses }: WebhookTarget,
  message: WebhookRequest
): Effect.Effect<WebhookResponse, WebhookSendError> =>
  Effect.callback((resume) => {
    const request = open(url, makeOptions(addresses, message))
    const fail = (reason: string): void => {
      resume(Effect.fail(new WebhookSendError({ reason })))
      request.destroy()
    }
    let informational = 0
    request
      // Stays attached after the result, because a destroyed socket can still emit errors.
      .on("error", (error) => fail(describeSendFailure(error)))
      .on("close", () => fail("the connection was closed before the response was complete"))
      .on("information", () => {
        informational++
        if (informational > maxInformational) fail("too many informational responses")
      })
      .on("response", (response) => {
        const { statusCode = 0, headers } = response
        const succeed = (): void => {
          resume(Effect.succeed({ statusCode, retryAfter: headers["retry-after"] }))
          request.destroy()
        }
        let received = 0
        response
          .on("error", (error) => fail(describeSendFailure(error)))
          .on("data", (chunk: Buffer) => {
            received += chunk.length
            // The status is known, and nothing reads the rest.
            if (received > maxResponseBytes) succeed()
          })
          .on("end", succeed)
      })
    request.end(message.body)
    return Effect.sync(() => void request.destroy())
  })

/** Sends a message, and returns the status of the response. A redirect or an error status is no failure here. */
export const sendWebhook = (message: WebhookRequest): Effect.Effect<WebhookResponse, WebhookSendError | ResolverBusy> =>
  resolveTarget(message.url, message.allowPrivateNetworks).pipe(
    Effect.catchTag("TargetError", ({ problem }) => new WebhookSendError({ reason: problem })),
    Effect.flatMap((target) => Effect.flatMap(importRequest(target.url), (open) => post(open, target, message))),
    Effect.timeoutOrElse({
      duration: timeoutSeconds * 1_000,
      orElse: () =>
        Effect.fail(new WebhookSendError({ reason: `no complete response within ${timeoutSeconds} seconds` }))
    })
  )
