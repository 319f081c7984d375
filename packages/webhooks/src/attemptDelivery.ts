/**
 * Attempts one delivery: signs the event and sends it. Fails if this process has no time to resolve the name of the host:
 * then nothing was attempted.
 */
import { Event, formatTimestamp, type SecretBox, skipChecks } from "@tollgate/core/module"
import { Clock, DateTime, Effect, Result, Schema } from "effect"
import type { Outcome } from "./finishAttempts.ts"
import type { ResolverBusy } from "./ResolutionError.ts"
import { CurrentResolution } from "./resolutionTurns.ts"
import { sendWebhook } from "./sendWebhook.ts"
import { signWebhook } from "./signWebhook.ts"
import type { StoredWebhook } from "./Webhook.ts"
import { WebhookConfig } from "./WebhookConfig.ts"
import { WebhookSendError } from "./WebhookSendError.ts"
import { decryptSecrets } from "./webhookSecrets.ts"

const encode = Schema.encodeSync(Event, skipChecks)

/** The body of all attempts: the event as in the log, and its time as Standard Webhooks names it. */
const toBody = (event: Event): string =>
  JSON.stringify({ ...encode(event), timestamp: formatTimestamp(event.occurredOn) })

const send = Effect.fnUntraced(function* (secretBox: SecretBox["Service"], webhook: StoredWebhook, event: Event) {
  const now = yield* DateTime.now
  const { allowPrivateNetworks } = yield* WebhookConfig
  const secrets = yield* decryptSecrets(secretBox, webhook, now)
  if (secrets.length === 0) return yield* new WebhookSendError({ reason: "the secret of the webhook cannot be read" })
  const body = toBody(event)
  const seconds = Math.floor(DateTime.toEpochMillis(now) / 1_000)
  const headers = {
    "webhook-id": event.id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signWebhook(secrets, event.id, seconds, body)
  }
  return yield* sendWebhook({ url: webhook.url, headers, body, allowPrivateNetworks }).pipe(
    Effect.provideService(CurrentResolution, { accountName: webhook.accountName, purpose: "delivery" })
  )
})

const readMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** Sends an event. `undefined` means that it is no longer in the log. */
export const attemptDelivery = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  webhook: StoredWebhook,
  event: Event | undefined
): Effect.fn.Return<Outcome, ResolverBusy> {
  const startedOn = yield* DateTime.now
  if (event === undefined) {
    const error = "the event is no longer in the log"
    return { attempt: { startedOn, durationMs: 0, error }, isFinal: true }
  }
  const start = yield* readMillis
  const result = yield* Effect.result(send(secretBox, webhook, event))
  const timing = { startedOn, durationMs: (yield* readMillis) - start }
  if (Result.isFailure(result)) {
    const { failure } = result
    return failure._tag === "ResolverBusy" ? yield* failure : { attempt: { ...timing, error: failure.reason } }
  }
  const { statusCode, retryAfter } = result.success
  return { attempt: { ...timing, statusCode }, retryAfter }
})
