import { Schema } from "effect"

export class ConsumerNotFound extends Schema.TaggedError<ConsumerNotFound>()("ConsumerNotFound", {
  consumer: Schema.String
}) {
  override get message(): string {
    return `Consumer "${this.consumer}" does not exist`
  }
}

export class ConsumerNameTaken extends Schema.TaggedError<ConsumerNameTaken>()("ConsumerNameTaken", {
  consumer: Schema.String
}) {
  override get message(): string {
    return `A consumer named "${this.consumer}" already exists. Choose another name.`
  }
}
