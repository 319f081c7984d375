/**
 * Keys for callers outside Effect.
 */
import { DateTime, Effect, Schema } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { Verification } from "../keys/Verification.ts"
import { ApiKey, ApiKeyCreate, ApiKeyUpdate, KeyVisibility, maximumBulk } from "../records/ApiKey.ts"
import { firstPage, Page, PageQuery } from "../schema/Page.ts"
import { TagFilter } from "../schema/Tags.ts"
import type { ApiKeyJson, PageJson } from "./consumersPromise.ts"
import * as Promises from "./Promises.ts"

const ListQuery = Schema.Struct({
  ...PageQuery.fields,
  keyFormat: Schema.optionalKey(KeyVisibility)
})
const GetOptions = Schema.Struct({
  ifTags: Schema.optionalKey(TagFilter),
  keyFormat: Schema.optionalKey(KeyVisibility)
})
const Guard = Schema.Struct({ ifTags: Schema.optionalKey(TagFilter) })
const Inputs = Schema.Array(ApiKeyCreate).pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maximumBulk)))

const listQuery = Promises.decodeParameters(ListQuery)
const getOptions = Promises.decodeParameters(GetOptions)
const guardIn = Promises.decodeParameters(Guard)
const createBody = Promises.decodeBody(ApiKeyCreate)
const createManyBody = Promises.decodeBody(Inputs)
const updateBody = Promises.decodeBody(ApiKeyUpdate)
const encode = Schema.encodeSync(ApiKey)
const encodePage = Schema.encodeSync(Page(ApiKey))

/** By hand, since an encoder would take longer than the verification. */
const encodeVerification = (verification: Verification): typeof Verification.Encoded => {
  if (!verification.valid || verification.expiresOn === undefined) return verification as typeof Verification.Encoded
  return { ...verification, expiresOn: DateTime.formatIso(verification.expiresOn) }
}

type Once = { readonly idempotencyKey?: string }

export const keysPromise = (keys: Omit<ApiKeys["Service"], "reencryptKeys">) => ({
  /** A page of a consumer's keys, oldest first. */
  list: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    query: typeof ListQuery.Encoded = {}
  ): Promise<PageJson<ApiKeyJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        return encodePage(yield* keys.list(bucket, consumerName, { ...firstPage, ...(yield* listQuery(query)) }))
      })
    ),

  /** Makes a key; its value is in the answer. */
  create: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    input: typeof ApiKeyCreate.Encoded = {},
    options: Once = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        const given = yield* createBody(input)
        const operation = ["keys.create", accountName, bucketName, consumerName]
        const asked = {
          idempotency: Promises.idempotency(yield* Promises.decodeIdempotencyOption(options), operation, input)
        }
        return encode((yield* keys.create(bucket, consumerName, given, asked)).value)
      })
    ),

  /** Makes several keys, all or none. */
  createMany: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    inputs: ReadonlyArray<typeof ApiKeyCreate.Encoded>,
    options: Once = {}
  ): Promise<PageJson<ApiKeyJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        const given = yield* createManyBody(inputs)
        const operation = ["keys.createMany", accountName, bucketName, consumerName]
        const asked = {
          idempotency: Promises.idempotency(yield* Promises.decodeIdempotencyOption(options), operation, inputs)
        }
        return encodePage(yield* keys.createMany(bucket, consumerName, given, asked))
      })
    ),

  get: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    keyId: string,
    options: typeof GetOptions.Encoded = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        return encode((yield* keys.get(bucket, consumerName, keyId, yield* getOptions(options))).value)
      })
    ),

  update: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    keyId: string,
    patch: typeof ApiKeyUpdate.Encoded,
    options: typeof Guard.Encoded = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        const conditions = yield* guardIn(options)
        return encode((yield* keys.update(bucket, consumerName, keyId, yield* updateBody(patch), conditions)).value)
      })
    ),

  remove: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    keyId: string,
    options: typeof Guard.Encoded = {}
  ): Promise<void> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        yield* keys.remove(bucket, consumerName, keyId, yield* guardIn(options))
      })
    ),

  /** Whether a key lets its bearer in, and whose it is. */
  verify: (accountName: string, bucketName: string, key: string): Promise<typeof Verification.Encoded> => {
    const bucket = Promises.cachedKeyBucket(accountName, bucketName)
    const verifying =
      bucket === undefined
        ? Effect.flatMap(Promises.keyBucket(accountName, bucketName), (bucket) => keys.verify(bucket, key))
        : keys.verify(bucket, key)
    return Promises.runPossiblySync(Effect.map(verifying, encodeVerification))
  }
})
