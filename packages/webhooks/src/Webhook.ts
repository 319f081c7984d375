/**
 * A webhook: an endpoint of a tenant to which events are sent.
 */
import {
  AccountName,
  boundedText,
  clearableFields,
  Id,
  LongText,
  optionalFields,
  Timestamp,
  toPatterns
} from "@tollgate/core/module"
import { Schema, Struct } from "effect"

/** The id of a webhook. It begins with `whk_`. */
export const WebhookId = Id("whk").pipe(Schema.brand("WebhookId"))
export type WebhookId = typeof WebhookId.Type

/** All types of events. */
export const allEvents = "*"

const makeEventPatterns = (eventTypes: ReadonlyArray<string>) =>
  Schema.Array(Schema.Literals([allEvents, ...toPatterns(eventTypes)])).pipe(
    Schema.check(Schema.isMinLength(1), Schema.isMaxLength(100))
  )

/** In characters. */
export const maxUrlLength = 2_048

/** Parsers of URLs drop line breaks and tabs, so what is shown would differ from where events are sent. */
const Url = boundedText(maxUrlLength).pipe(
  Schema.check(Schema.isPattern(/^[^\s\p{Cc}]*$/u, { expected: "a URL without white space and control characters" }))
)

const State = Schema.Literals(["enabled", "disabled"])

/** The optional fields that callers set, with the limits of requests. Everything else that has them is derived from here. */
const inputFields = { description: LongText }

const fields = {
  id: WebhookId,
  url: Schema.String,
  /** Types of events, groups such as `consumer.*`, or `*` for all. */
  events: Schema.Array(Schema.String),
  ...optionalFields(inputFields),
  description: Schema.optionalKey(Schema.String),
  state: State,
  /** Why Tollgate disabled the webhook. */
  disabledReason: Schema.optionalKey(Schema.String),
  createdOn: Timestamp,
  updatedOn: Timestamp
}

/** An endpoint to which the events of an account are sent. */
export const Webhook = Schema.Struct(fields).annotate({ identifier: "Webhook" })
export type Webhook = typeof Webhook.Type
/** A webhook, as plain JSON. */
export type WebhookJson = typeof Webhook.Encoded

/** A new webhook, with the secret that signs its requests. The secret is never shown again. */
export const WebhookWithSecret = Schema.Struct({ ...fields, secret: Schema.String }).annotate({
  identifier: "WebhookWithSecret"
})
export type WebhookWithSecret = typeof WebhookWithSecret.Type
export type WebhookWithSecretJson = typeof WebhookWithSecret.Encoded

export const WebhookSecret = Schema.Struct({ secret: Schema.String }).annotate({ identifier: "WebhookSecret" })

/** The inputs that create and update a webhook, which name types of events. */
export const makeWebhookInputs = (eventTypes: ReadonlyArray<string>) => {
  const events = Schema.optionalKey(makeEventPatterns(eventTypes))
  return {
    /** Without `events`, all events are sent. */
    WebhookCreate: Schema.Struct({ url: Url, events, ...optionalFields(inputFields) }).annotate({
      identifier: "WebhookCreate"
    }),
    /** A missing field stays unchanged; `null` clears a field that may be missing. */
    WebhookUpdate: Schema.Struct({
      url: Schema.optionalKey(Url),
      events,
      ...clearableFields(inputFields),
      state: Schema.optionalKey(State)
    }).annotate({ identifier: "WebhookUpdate" })
  }
}
type WebhookInputs = ReturnType<typeof makeWebhookInputs>
/** The fields of a new webhook. */
export type WebhookCreate = WebhookInputs["WebhookCreate"]
/** The fields of a webhook to change. */
export type WebhookUpdate = WebhookInputs["WebhookUpdate"]

export const StoredWebhook = Schema.Struct({
  ...fields,
  accountName: AccountName,
  /** The secrets that sign, encrypted, the newest first. All but the newest expire. */
  secrets: Schema.Array(Schema.Struct({ encrypted: Schema.String, expiresOn: Schema.optionalKey(Timestamp) })),
  /** Since when every attempt has failed. */
  failingSince: Schema.optionalKey(Timestamp),
  /** The version that callers know, if the record was written since without a change that they can see. */
  revision: Schema.optionalKey(Schema.Int),
  /** Whether the webhook was deleted, and its deliveries are still to be removed. */
  isDeleted: Schema.optionalKey(Schema.Boolean)
})
export type StoredWebhook = typeof StoredWebhook.Type

const publicFieldNames = Struct.keys(fields)

export const toWebhook = (stored: StoredWebhook): Webhook => Struct.pick(stored, publicFieldNames)

/** Whether events of this type are sent to the webhook. */
export const receives = ({ state, events }: StoredWebhook, type: string): boolean =>
  state === "enabled" &&
  events.some((pattern) => (pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type))
