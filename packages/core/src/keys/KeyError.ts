import { Schema } from "effect"
import { maxKeysPerConsumer } from "../records/keyRecords.ts"

/** Does not contain the requested id: a caller may have passed a key value instead of an id. */
export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", {}) {
  override get message(): string {
    return "This consumer has no key with this id"
  }
}

/** Another key in the bucket has this value. The error does not contain the value. */
export class KeyValueTaken extends Schema.TaggedError<KeyValueTaken>()("KeyValueTaken", {}) {
  override get message(): string {
    return "Another key in this bucket already has this value. Supply a different value, or omit it to generate one."
  }
}

export class KeyLimitReached extends Schema.TaggedError<KeyLimitReached>()("KeyLimitReached", {}) {
  override get message(): string {
    return `A consumer can have at most ${maxKeysPerConsumer} keys. Delete some keys first.`
  }
}

export class KeyNotRetained extends Schema.TaggedError<KeyNotRetained>()("KeyNotRetained", {}) {
  override get message(): string {
    return "Key values are not stored. A value is only shown when its key is created."
  }
}
