import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"
import { maxKeysPerConsumer } from "../records/ApiKey.ts"

/** Does not contain the requested id: a caller may have passed a key value instead of an id. */
export class KeyNotFound extends defineError<KeyNotFound>()("KeyNotFound", {
  code: "key-not-found",
  status: 404,
  title: "Key not found",
  detail: () => "This consumer has no key with this id"
}) {}

/** Another key in the bucket, or in the same request, has this value. The error does not contain the value. */
export class KeyValueTaken extends defineError<KeyValueTaken>()(
  "KeyValueTaken",
  {
    code: "key-value-taken",
    status: 409,
    title: "Key value already in use",
    detail: ({ index }) =>
      index === undefined
        ? "Another key in this bucket already has this value. Supply a different value, or omit it to generate one."
        : `Key ${index} of the request, counted from 0: another key in this bucket or in the request has this value. No key was created.`
  },
  {
    /** The position of the key in the request, if it has several. */
    index: Schema.optionalKey(Schema.Int)
  }
) {}

export class KeyLimitReached extends defineError<KeyLimitReached>()("KeyLimitReached", {
  code: "key-limit-reached",
  status: 409,
  title: "Key limit reached",
  detail: () => `A consumer can have at most ${maxKeysPerConsumer} keys. Delete some keys first.`
}) {}

export class KeyNotRetained extends defineError<KeyNotRetained>()("KeyNotRetained", {
  code: "key-not-retained",
  status: 409,
  title: "Key value not stored",
  detail: () =>
    "The value of this key is not stored: it was imported by its hash, or only hashes are kept. Read it with key-format=masked."
}) {}
