import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

export class ConsumerNotFound extends defineError<ConsumerNotFound>()(
  "ConsumerNotFound",
  {
    code: "consumer-not-found",
    status: 404,
    title: "Consumer not found",
    meaning: "The key bucket has no consumer of this name, or its tags do not match the `tag.*` parameters.",
    remedy: "Check the name, the key bucket and the tags. Create the consumer if it should exist.",
    detail: ({ consumer }) => `Consumer "${consumer}" does not exist`
  },
  { consumer: Schema.String.annotate({ description: "The name of the consumer." }) }
) {}

export class ConsumerNameTaken extends defineError<ConsumerNameTaken>()(
  "ConsumerNameTaken",
  {
    code: "consumer-name-taken",
    status: 409,
    title: "Consumer name already in use",
    meaning: "The key bucket already has a consumer of this name.",
    remedy:
      "Choose another name, or use the existing consumer. After a retry without `Idempotency-Key`, it may be the " +
      "one that the first request created.",
    detail: ({ consumer }) => `A consumer named "${consumer}" already exists. Choose another name.`
  },
  { consumer: Schema.String.annotate({ description: "The name of the consumer." }) }
) {}
