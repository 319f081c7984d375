import { Schema } from "effect"
import { maximumKeys } from "../records/keyRecords.ts"

/** What was asked for is not repeated: it may be a key value, in the wrong place. */
export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", {}) {
  override get message(): string {
    return "There is no such key of this consumer"
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
