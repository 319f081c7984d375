import { Schema } from "effect"

export class ConsumerNotFound extends Schema.TaggedError<ConsumerNotFound>()("ConsumerNotFound", {
  consumer: Schema.String
}) {
  override get message(): string {
    return `There is no consumer "${this.consumer}" here`
  }
}

export class ConsumerNameTaken extends Schema.TaggedError<ConsumerNameTaken>()("ConsumerNameTaken", {
  consumer: Schema.String
}) {
  override get message(): string {
    return `There is a consumer "${this.consumer}" already; choose another name`
  }
}
