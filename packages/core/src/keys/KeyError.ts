import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"
import { maxKeysPerConsumer } from "../records/ApiKey.ts"

/** Does not contain the requested id: a caller may have passed a key value instead of an id. */
export class KeyNotFound extends defineError<KeyNotFound>()("KeyNotFound", {
  code: "key-not-found",
  status: 404,
  title: "Key not found",
  meaning:
    "The consumer, or the key bucket, has no key with this ID. The ID is not in the error: it may be a key value that was passed by " +
    "mistake.",
  remedy: "Pass the `id` of the key, not its value. List the keys of the consumer to find it.",
  detail: () => "There is no key with this id"
}) {}

/** Another key in the bucket, or in the same request, has this value. The error does not contain the value. */
export class KeyValueTaken extends defineError<KeyValueTaken>()(
  "KeyValueTaken",
  {
    code: "key-value-taken",
    status: 409,
    title: "Key value already in use",
    meaning:
      "Another key of the key bucket, or of the same request, has this value or was imported with its hash. No key " +
      "was created.",
    remedy: "Supply another value, or leave it out so that Tollgate generates one.",
    detail: ({ index }) =>
      index === undefined
        ? "Another key in this bucket already has this value. Supply a different value, or omit it to generate one."
        : `Key ${index} of the request, counted from 0: another key in this bucket or in the request has this value. No key was created.`
  },
  {
    index: Schema.optionalKey(
      Schema.Int.annotate({
        description: "The position of the key in the request, counted from 0, if the request has several."
      })
    )
  }
) {}

/** A key that is disabled or has expired is not rolled: the new one would bring it back. */
export class KeyNotActive extends defineError<KeyNotActive>()("KeyNotActive", {
  code: "key-not-active",
  status: 409,
  title: "Key not active",
  meaning: "The key to be rolled is disabled or has expired. The new key would bring it back.",
  remedy: "Create a new key instead.",
  detail: () => "This key is disabled or has expired, so it cannot be rolled. Create a new key instead."
}) {}

export class KeyLimitReached extends defineError<KeyLimitReached>()("KeyLimitReached", {
  code: "key-limit-reached",
  status: 409,
  title: "Key limit reached",
  meaning:
    "The consumer has 10,000 keys, or would have more. A customer in the portal may have less: `maxKeys`, 10 by default.",
  remedy: "Delete keys that are expired or not used, or create another consumer.",
  detail: () => `A consumer can have at most ${maxKeysPerConsumer} keys. Delete some keys first.`
}) {}

export class KeyNotRetained extends defineError<KeyNotRetained>()("KeyNotRetained", {
  code: "key-not-retained",
  status: 409,
  title: "Key value not stored",
  meaning:
    "The value of the key cannot be shown, because it is not stored: the key was imported by its hash, or " +
    "`keyStorage` is `hash-only`. A list shows imported keys without their values.",
  remedy: "Read the key with `key-format=masked`. If the value is lost, create a new key and " + "delete this one.",
  detail: () =>
    "The value of this key is not stored: it was imported by its hash, or only hashes are kept. Read it with key-format=masked."
}) {}
