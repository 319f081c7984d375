/**
 * From Effect to promises: input is plain JSON, checked as it would be over HTTP, output is plain JSON, and errors are
 * the same tagged classes.
 */
import { createHash } from "node:crypto"
import { Cause, Effect, Exit, Schema } from "effect"
import { BoundedMap } from "./BoundedMap.ts"
import { thawed } from "./frozen.ts"
import type { Idempotency } from "./Idempotency.ts"
import { InvalidInput, placesInBody, placesInParameters } from "./InvalidInput.ts"
import { KeyBucket } from "./KeyBucket.ts"
import { offence } from "./SafeJson.ts"
import { unchecked } from "./unchecked.ts"

const strict = { onExcessProperty: "error" } as const

/** Runs, and rejects with the error itself. */
export const run = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
  const exit = await Effect.runPromiseExit(effect)
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

const settled = <A, E>(exit: Exit.Exit<A, E>): Promise<A> =>
  Exit.isSuccess(exit) ? Promise.resolve(exit.value) : Promise.reject(Cause.squash(exit.cause))

/** The same for the hot path: what needs not wait is not waited for. */
export const runNow = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
  const fiber = Effect.runFork(effect)
  const exit = fiber.pollUnsafe()
  return exit === undefined
    ? new Promise((resolve) => fiber.addObserver((exit) => resolve(settled(exit))))
    : settled(exit)
}

/** Checks a body. */
export const body = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema, strict)
  return (input: I): Effect.Effect<A, InvalidInput> => {
    const fault = offence(input)
    return fault === undefined
      ? Effect.mapError(decode(input), (error) => new InvalidInput({ errors: placesInBody(error) }))
      : Effect.fail(fault)
  }
}

/** Plain JSON of a value, and the caller's own: what services share among callers is not given away. */
export const encoder = <A, I>(schema: Schema.Codec<A, I>): ((value: A) => I) => {
  const encode = Schema.encodeSync(schema, unchecked)
  return (value) => thawed(encode(value))
}

/** Checks what would stand in the path or in the query. */
export const parameters = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema, strict)
  return (input: I): Effect.Effect<A, InvalidInput> =>
    Effect.mapError(decode(input), (error) => new InvalidInput({ errors: placesInParameters(error) }))
}

const keyBuckets = new BoundedMap<string, KeyBucket>(10_000)
const keyBucketIn = parameters(KeyBucket)

/** The address of a key bucket that was seen before. Neither name can have a slash in it. */
export const knownKeyBucket = (accountName: string, bucketName: string): KeyBucket | undefined =>
  typeof accountName === "string" && typeof bucketName === "string"
    ? keyBuckets.get(`${accountName}/${bucketName}`)
    : undefined

/** The address of a key bucket, checked when it is first seen: this stands on the hot path. */
export const keyBucket = (accountName: string, bucketName: string): Effect.Effect<KeyBucket, InvalidInput> => {
  const known = knownKeyBucket(accountName, bucketName)
  if (known !== undefined) return Effect.succeed(known)
  return Effect.map(keyBucketIn({ accountName, bucketName }), (bucket) => {
    keyBuckets.set(`${accountName}/${bucketName}`, bucket)
    return bucket
  })
}

/** What a call may be remembered by. */
export const IdempotencyKey = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^[\x21-\x7e]{1,255}$/u, { expected: "1 to 255 visible ASCII characters" }))
)

const onceIn = parameters(Schema.Struct({ idempotencyKey: Schema.optionalKey(IdempotencyKey) }))

/** The options of a call that makes something and takes no others. */
export const onceOption = (options: {
  readonly idempotencyKey?: string
}): Effect.Effect<string | undefined, InvalidInput> =>
  Effect.map(onceIn(options), ({ idempotencyKey }) => idempotencyKey)

const digest = (parts: ReadonlyArray<unknown>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

/** What a call is remembered by, apart from all that comes over HTTP. */
export const idempotency = (
  key: string | undefined,
  operation: ReadonlyArray<string>,
  input: unknown
): Idempotency | undefined =>
  key === undefined ? undefined : { id: digest(["in process", ...operation, key]), fingerprint: digest([input]) }
