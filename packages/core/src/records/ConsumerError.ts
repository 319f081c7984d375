import { Schema } from "effect"
import { problem } from "../errors/problem.ts"

export class ConsumerNotFound extends problem<ConsumerNotFound>()(
  "ConsumerNotFound",
  {
    code: "consumer-not-found",
    status: 404,
    title: "Consumer not found",
    detail: ({ consumer }) => `Consumer "${consumer}" does not exist`
  },
  { consumer: Schema.String }
) {}

export class ConsumerNameTaken extends problem<ConsumerNameTaken>()(
  "ConsumerNameTaken",
  {
    code: "consumer-name-taken",
    status: 409,
    title: "Consumer name already in use",
    detail: ({ consumer }) => `A consumer named "${consumer}" already exists. Choose another name.`
  },
  { consumer: Schema.String }
) {}
