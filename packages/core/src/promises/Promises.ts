/**
 * From Effect to promises: input is plain JSON, checked as it would be over HTTP, output is plain JSON, and errors are
 * the same tagged classes.
 */
import { createHash } from "node:crypto"
import { Cause, Effect, Exit, Schema } from "effect"
import { KeyBucket } from "../records/KeyBucket.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { clonePlain } from "../runtime/deepFreeze.ts"
import { encodeOptions } from "../schema/encodeOptions.ts"
import { bodyIssues, InvalidInput, parameterIssues } from "../schema/InvalidInput.ts"
import { findUnsafeJson } from "../schema/SafeJson.ts"
import type { Idempotency } from "../store/Idempotency.ts"

const rejectUnknown = { onExcessProperty: "error" } as const

/** Runs, and rejects with the error itself. */
export const run = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
  const exit = await Effect.runPromiseExit(effect)
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

const exitToPromise = <A, E>(exit: Exit.Exit<A, E>): Promise<A> =>
  Exit.isSuccess(exit) ? Promise.resolve(exit.value) : Promise.reject(Cause.squash(exit.cause))

/** The same for the hot path: what needs not wait is not waited for. */
export const runPossiblySync = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
  const fiber = Effect.runFork(effect)
  const exit = fiber.pollUnsafe()
  return exit === undefined
    ? new Promise((resolve) => fiber.addObserver((exit) => resolve(exitToPromise(exit))))
    : exitToPromise(exit)
}

/** Checks a body. */
export const decodeBody = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema, rejectUnknown)
  return (input: I): Effect.Effect<A, InvalidInput> => {
    const fault = findUnsafeJson(input)
    return fault === undefined
      ? Effect.mapError(decode(input), (error) => new InvalidInput({ errors: bodyIssues(error) }))
      : Effect.fail(fault)
  }
}

/** Plain JSON of a value, and the caller's own: what services share among callers is not given away. */
export const encoder = <A, I>(schema: Schema.Codec<A, I>): ((value: A) => I) => {
  const encode = Schema.encodeSync(schema, encodeOptions)
  return (value) => clonePlain(encode(value))
}

/** Checks what would stand in the path or in the query. */
export const decodeParameters = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema, rejectUnknown)
  return (input: I): Effect.Effect<A, InvalidInput> =>
    Effect.mapError(decode(input), (error) => new InvalidInput({ errors: parameterIssues(error) }))
}

const keyBuckets = new BoundedMap<string, KeyBucket>(10_000)
const keyBucketIn = decodeParameters(KeyBucket)

/** The address of a key bucket that was seen before. Neither name can have a slash in it. */
export const cachedKeyBucket = (accountName: string, bucketName: string): KeyBucket | undefined =>
  typeof accountName === "string" && typeof bucketName === "string"
    ? keyBuckets.get(`${accountName}/${bucketName}`)
    : undefined

/** The address of a key bucket, checked when it is first seen: this stands on the hot path. */
export const keyBucket = (accountName: string, bucketName: string): Effect.Effect<KeyBucket, InvalidInput> => {
  const known = cachedKeyBucket(accountName, bucketName)
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

const onceIn = decodeParameters(Schema.Struct({ idempotencyKey: Schema.optionalKey(IdempotencyKey) }))

/** The options of a call that makes something and takes no others. */
export const decodeIdempotencyOption = (options: {
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
