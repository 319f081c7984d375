import { Schema } from "effect"
import { maximumKeys } from "./keyRecords.ts"

export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", { keyId: Schema.String }) {
  override get message(): string {
    return `There is no key "${this.keyId}" of this consumer`
  }
}

/** Another key of the bucket has this value. The value is not repeated. */
export class KeyValueTaken extends Schema.TaggedError<KeyValueTaken>()("KeyValueTaken", {}) {
  override get message(): string {
    return "Another key of this bucket has that value; supply another, or none to have one made"
  }
}

export class KeyLimitReached extends Schema.TaggedError<KeyLimitReached>()("KeyLimitReached", {}) {
  override get message(): string {
    return `A consumer has at most ${maximumKeys} keys; delete some first`
  }
}

export class KeyNotRetained extends Schema.TaggedError<KeyNotRetained>()("KeyNotRetained", {}) {
  override get message(): string {
    return "Key values are not kept here; they are shown once, when they are made"
  }
}
