import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

export class GrantNotFound extends defineError<GrantNotFound>()(
  "GrantNotFound",
  {
    code: "grant-not-found",
    status: 404,
    title: "Grant not found",
    meaning: "The customer has no grant with this ID.",
    remedy: "Check the ID and the `customerKey`. List the grants of the customer to find the ID.",
    detail: ({ grantId }) => `The customer has no grant "${grantId}"`
  },
  { grantId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

export class GrantExternalIdTaken extends defineError<GrantExternalIdTaken>()(
  "GrantExternalIdTaken",
  {
    code: "grant-external-id-taken",
    status: 409,
    title: "Grant external ID already in use",
    meaning: "The metering bucket has a grant with this `externalId` already, and its content is another one.",
    remedy: "Choose another `externalId`, or send exactly what the grant was created with to get the existing one.",
    detail: ({ externalId }) =>
      `A grant of this metering bucket has the externalId "${externalId}" already, with other content`
  },
  { externalId: Schema.String.annotate({ description: "The requested `externalId`." }) }
) {}

export class TooManyGrants extends defineError<TooManyGrants>()(
  "TooManyGrants",
  {
    code: "too-many-grants",
    status: 409,
    title: "Too many open grants",
    meaning: "The customer has as many pending and active grants of the meter as it may have.",
    remedy: "Void a grant that is not needed, or make one larger grant.",
    detail: ({ meter, max }) =>
      `A customer may have at most ${max} open grants of the meter "${meter}". Void one first.`
  },
  {
    meter: Schema.String.annotate({ description: "The name of the meter." }),
    max: Schema.Int.annotate({ description: "The maximum." })
  }
) {}
