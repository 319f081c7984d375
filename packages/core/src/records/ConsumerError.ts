import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

export class ConsumerNotFound extends defineError<ConsumerNotFound>()(
  "ConsumerNotFound",
  {
    code: "consumer-not-found",
    status: 404,
    title: "Consumer not found",
    detail: ({ consumer }) => `Consumer "${consumer}" does not exist`
  },
  { consumer: Schema.String }
) {}

export class ConsumerNameTaken extends defineError<ConsumerNameTaken>()(
  "ConsumerNameTaken",
  {
    code: "consumer-name-taken",
    status: 409,
    title: "Consumer name already in use",
    detail: ({ consumer }) => `A consumer named "${consumer}" already exists. Choose another name.`
  },
  { consumer: Schema.String }
) {}
