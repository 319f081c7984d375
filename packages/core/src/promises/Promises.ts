/**
 * Helpers of the promise API. Input is plain JSON and is validated as it is over HTTP; output is plain JSON; promises
 * reject with the same tagged errors that the services fail with.
 */
import { createHash } from "node:crypto"
import { Cause, Effect, Exit, Schema } from "effect"
import { KeyBucket } from "../records/KeyBucket.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { clonePlain } from "../runtime/deepFreeze.ts"
import { bodyIssues, InvalidInput, parameterIssues } from "../schema/InvalidInput.ts"
import { findUnsafeJson } from "../schema/SafeJson.ts"
import { skipChecks } from "../schema/skipChecks.ts"
import type { Idempotency } from "../store/Idempotency.ts"

const rejectUnknown = { onExcessProperty: "error" } as const

/** Runs an effect, and rejects with its error (not with a FiberFailure). */
export const run = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
  const exit = await Effect.runPromiseExit(effect)
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

const exitToPromise = <A, E>(exit: Exit.Exit<A, E>): Promise<A> =>
  Exit.isSuccess(exit) ? Promise.resolve(exit.value) : Promise.reject(Cause.squash(exit.cause))

/** Like `run`, for the hot path: returns a settled promise if the effect finishes synchronously. */
export const runPossiblySync = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
  const fiber = Effect.runFork(effect)
  const exit = fiber.pollUnsafe()
  return exit === undefined
    ? new Promise((resolve) => fiber.addObserver((exit) => resolve(exitToPromise(exit))))
    : exitToPromise(exit)
}

/** Makes a decoder of input that would be the JSON body over HTTP: its errors have JSON pointers. */
export const makeBodyDecoder = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema, rejectUnknown)
  return (input: I): Effect.Effect<A, InvalidInput> => {
    const unsafe = findUnsafeJson(input)
    return unsafe === undefined
      ? Effect.mapError(decode(input), (error) => new InvalidInput({ errors: bodyIssues(error) }))
      : Effect.fail(unsafe)
  }
}

/**
 * Makes an encoder to plain JSON. It copies the value, because services may share frozen or cached data among callers.
 */
export const makeEncoder = <A, I>(schema: Schema.Codec<A, I>): ((value: A) => I) => {
  const encode = Schema.encodeSync(schema, skipChecks)
  return (value) => clonePlain(encode(value))
}

/** Makes a decoder of input that would be in the path or query over HTTP: its errors name the parameter. */
export const makeParameterDecoder = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema, rejectUnknown)
  return (input: I): Effect.Effect<A, InvalidInput> =>
    Effect.mapError(decode(input), (error) => new InvalidInput({ errors: parameterIssues(error) }))
}

const keyBuckets = new BoundedMap<string, KeyBucket>(10_000)
const decodeKeyBucketNames = makeParameterDecoder(KeyBucket)

/** Returns a key bucket that was decoded before. The cache key is unique because neither name may contain a slash. */
export const cachedKeyBucket = (accountName: string, bucketName: string): KeyBucket | undefined =>
  typeof accountName === "string" && typeof bucketName === "string"
    ? keyBuckets.get(`${accountName}/${bucketName}`)
    : undefined

/** Decodes a key bucket, and caches the result for the hot path. */
export const decodeKeyBucket = (accountName: string, bucketName: string): Effect.Effect<KeyBucket, InvalidInput> => {
  const cached = cachedKeyBucket(accountName, bucketName)
  if (cached !== undefined) return Effect.succeed(cached)
  return Effect.map(decodeKeyBucketNames({ accountName, bucketName }), (bucket) => {
    keyBuckets.set(`${accountName}/${bucketName}`, bucket)
    return bucket
  })
}

export const IdempotencyKey = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^[\x21-\x7e]{1,255}$/u, { expected: "1 to 255 visible ASCII characters" }))
)

const decodeIdempotencyKey = makeParameterDecoder(Schema.Struct({ idempotencyKey: Schema.optionalKey(IdempotencyKey) }))

/** Decodes the options of a call that accepts only an idempotency key. */
export const decodeIdempotencyOption = (options: {
  readonly idempotencyKey?: string
}): Effect.Effect<string | undefined, InvalidInput> =>
  Effect.map(decodeIdempotencyKey(options), ({ idempotencyKey }) => idempotencyKey)

const digest = (parts: ReadonlyArray<unknown>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

/**
 * Makes the id and fingerprint of an idempotent call. The id cannot collide with one from an HTTP request. `operation`
 * is part of stored ids, so the names in it cannot change.
 */
export const makeIdempotency = (
  key: string | undefined,
  operation: ReadonlyArray<string>,
  input: unknown
): Idempotency | undefined =>
  key === undefined ? undefined : { id: digest(["in process", ...operation, key]), fingerprint: digest([input]) }
