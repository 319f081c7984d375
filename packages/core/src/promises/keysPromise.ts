/**
 * The promise API of keys.
 */
import { DateTime, Effect, Schema } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { Verification } from "../keys/Verification.ts"
import { ApiKey, ApiKeyCreate, ApiKeyUpdate, KeyVisibility, maxKeysPerRequest } from "../records/ApiKey.ts"
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
const IfTags = Schema.Struct({ ifTags: Schema.optionalKey(TagFilter) })
const CreateManyInput = Schema.Array(ApiKeyCreate).pipe(
  Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maxKeysPerRequest))
)

const decodeListQuery = Promises.makeParameterDecoder(ListQuery)
const decodeGetOptions = Promises.makeParameterDecoder(GetOptions)
const decodeIfTags = Promises.makeParameterDecoder(IfTags)
const decodeCreateBody = Promises.makeBodyDecoder(ApiKeyCreate)
const decodeCreateManyBody = Promises.makeBodyDecoder(CreateManyInput)
const decodeUpdateBody = Promises.makeBodyDecoder(ApiKeyUpdate)
const encodeKey = Schema.encodeSync(ApiKey)
const encodePage = Schema.encodeSync(Page(ApiKey))

/** Encodes by hand: the schema encoder would take longer than the verification itself. */
const encodeVerification = (verification: Verification): typeof Verification.Encoded => {
  if (!verification.valid || verification.expiresOn === undefined) return verification as typeof Verification.Encoded
  return { ...verification, expiresOn: DateTime.formatIso(verification.expiresOn) }
}

type IdempotencyOption = { readonly idempotencyKey?: string }

export const keysPromise = (keys: Omit<ApiKeys["Service"], "reencryptKeys">) => ({
  /** Returns a page of a consumer's keys, oldest first. */
  list: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    query: typeof ListQuery.Encoded = {}
  ): Promise<PageJson<ApiKeyJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        return encodePage(yield* keys.list(bucket, consumerName, { ...firstPage, ...(yield* decodeListQuery(query)) }))
      })
    ),

  /** Creates a key. The result contains its value. */
  create: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    input: typeof ApiKeyCreate.Encoded = {},
    options: IdempotencyOption = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        const decoded = yield* decodeCreateBody(input)
        const operation = ["keys.create", accountName, bucketName, consumerName]
        const idempotencyKey = yield* Promises.decodeIdempotencyOption(options)
        const idempotency = Promises.makeIdempotency(idempotencyKey, operation, input)
        return encodeKey((yield* keys.create(bucket, consumerName, decoded, { idempotency })).value)
      })
    ),

  /** Creates several keys atomically. */
  createMany: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    inputs: ReadonlyArray<typeof ApiKeyCreate.Encoded>,
    options: IdempotencyOption = {}
  ): Promise<PageJson<ApiKeyJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        const decoded = yield* decodeCreateManyBody(inputs)
        const operation = ["keys.createMany", accountName, bucketName, consumerName]
        const idempotencyKey = yield* Promises.decodeIdempotencyOption(options)
        const idempotency = Promises.makeIdempotency(idempotencyKey, operation, inputs)
        return encodePage(yield* keys.createMany(bucket, consumerName, decoded, { idempotency }))
      })
    ),

  /** Returns a key of a consumer. Its value is masked unless `keyFormat` says otherwise. */
  get: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    keyId: string,
    options: typeof GetOptions.Encoded = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        return encodeKey((yield* keys.get(bucket, consumerName, keyId, yield* decodeGetOptions(options))).value)
      })
    ),

  /** Updates the fields in `patch`. `null` clears the expiry or the description. */
  update: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    keyId: string,
    patch: typeof ApiKeyUpdate.Encoded,
    options: typeof IfTags.Encoded = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        const conditions = yield* decodeIfTags(options)
        return encodeKey(
          (yield* keys.update(bucket, consumerName, keyId, yield* decodeUpdateBody(patch), conditions)).value
        )
      })
    ),

  /** Deletes a key. */
  remove: (
    accountName: string,
    bucketName: string,
    consumerName: string,
    keyId: string,
    options: typeof IfTags.Encoded = {}
  ): Promise<void> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        yield* keys.remove(bucket, consumerName, keyId, yield* decodeIfTags(options))
      })
    ),

  /** Checks whether a key is valid, and returns the consumer that it belongs to. */
  verify: (accountName: string, bucketName: string, key: string): Promise<typeof Verification.Encoded> => {
    const bucket = Promises.cachedKeyBucket(accountName, bucketName)
    const verification =
      bucket === undefined
        ? Effect.flatMap(Promises.decodeKeyBucket(accountName, bucketName), (bucket) => keys.verify(bucket, key))
        : keys.verify(bucket, key)
    return Promises.runPossiblySync(Effect.map(verification, encodeVerification))
  }
})
