/**
 * The promise API of consumers.
 */
import { Effect, Schema } from "effect"
import type { Consumers } from "../consumers/Consumers.ts"
import { ApiKey, KeyVisibility } from "../records/ApiKey.ts"
import { Consumer, ConsumerCreate, ConsumerUpdate } from "../records/Consumer.ts"
import { Email } from "../records/Manager.ts"
import { firstPage, Page, PageQuery } from "../schema/Page.ts"
import { TagFilter } from "../schema/Tags.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import * as Promises from "./Promises.ts"

export type ConsumerJson = typeof Consumer.Encoded
export type ApiKeyJson = typeof ApiKey.Encoded
export interface PageJson<A> {
  readonly data: ReadonlyArray<A>
  readonly limit: number
  readonly offset: number
  readonly total: number
}

const Include = {
  apiKeys: Schema.optionalKey(Schema.Boolean),
  managers: Schema.optionalKey(Schema.Boolean),
  managerInvites: Schema.optionalKey(Schema.Boolean),
  keyFormat: Schema.optionalKey(KeyVisibility)
}
const ListQuery = Schema.Struct({
  ...Include,
  ...PageQuery.fields,
  tags: Schema.optionalKey(TagFilter),
  managerEmail: Schema.optionalKey(Email)
})
const GetOptions = Schema.Struct({ ...Include, ifTags: Schema.optionalKey(TagFilter) })
const IfTags = Schema.Struct({ ifTags: Schema.optionalKey(TagFilter) })
const CreateOptions = Schema.Struct({
  withApiKey: Schema.optionalKey(Schema.Boolean),
  idempotencyKey: Schema.optionalKey(Promises.IdempotencyKey)
})
const RollOptions = Schema.Struct({
  ifTags: Schema.optionalKey(TagFilter),
  idempotencyKey: Schema.optionalKey(Promises.IdempotencyKey)
})

const decodeListQuery = Promises.makeParameterDecoder(ListQuery)
const decodeGetOptions = Promises.makeParameterDecoder(GetOptions)
const decodeIfTags = Promises.makeParameterDecoder(IfTags)
const decodeCreateOptions = Promises.makeParameterDecoder(CreateOptions)
const decodeRollOptions = Promises.makeParameterDecoder(RollOptions)
const decodeCreateBody = Promises.makeBodyDecoder(ConsumerCreate)
const decodeUpdateBody = Promises.makeBodyDecoder(ConsumerUpdate)
const decodeRollBody = Promises.makeBodyDecoder(Schema.Struct({ expiresOn: Timestamp }))
const encodeConsumer = Promises.makeEncoder(Consumer)
const encodeKey = Promises.makeEncoder(ApiKey)
const encodePage = Promises.makeEncoder(Page(Consumer))

export const consumersPromise = (consumers: Consumers["Service"]) => ({
  /** Returns a page of consumers, oldest first. */
  list: (
    accountName: string,
    bucketName: string,
    query: typeof ListQuery.Encoded = {}
  ): Promise<PageJson<ConsumerJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        return encodePage(yield* consumers.list(bucket, { ...firstPage, ...(yield* decodeListQuery(query)) }))
      })
    ),

  /** Creates a consumer. The result contains the keys that were created with it, including their values. */
  create: (
    accountName: string,
    bucketName: string,
    input: typeof ConsumerCreate.Encoded,
    options: typeof CreateOptions.Encoded = {}
  ): Promise<ConsumerJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        const operation = ["consumers.create", accountName, bucketName]
        const { withApiKey, idempotencyKey } = yield* decodeCreateOptions(options)
        const consumer = yield* decodeCreateBody(input)
        const idempotency = Promises.makeIdempotency(idempotencyKey, operation, [input, withApiKey])
        return encodeConsumer((yield* consumers.create(bucket, consumer, { withApiKey, idempotency })).value)
      })
    ),

  /** Returns a consumer. With `ifTags`, rejects with `ConsumerNotFound` unless all tags match. */
  get: (
    accountName: string,
    bucketName: string,
    name: string,
    options: typeof GetOptions.Encoded = {}
  ): Promise<ConsumerJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        return encodeConsumer((yield* consumers.get(bucket, name, yield* decodeGetOptions(options))).value)
      })
    ),

  /** Updates the fields in `patch`. `null` clears the description. */
  update: (
    accountName: string,
    bucketName: string,
    name: string,
    patch: typeof ConsumerUpdate.Encoded,
    options: typeof IfTags.Encoded = {}
  ): Promise<ConsumerJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        return encodeConsumer(
          (yield* consumers.update(bucket, name, yield* decodeUpdateBody(patch), yield* decodeIfTags(options))).value
        )
      })
    ),

  /** Deletes a consumer with its keys, managers and invites. */
  remove: (accountName: string, bucketName: string, name: string, options: typeof IfTags.Encoded = {}): Promise<void> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        yield* consumers.remove(bucket, name, yield* decodeIfTags(options))
      })
    ),

  /** Sets `expiresOn` on every key that has no expiry and creates a new key, in one commit. Returns the new key. */
  rollKey: (
    accountName: string,
    bucketName: string,
    name: string,
    input: { readonly expiresOn: string },
    options: typeof RollOptions.Encoded = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.decodeKeyBucket(accountName, bucketName)
        const { expiresOn } = yield* decodeRollBody(input)
        const operation = ["consumers.rollKey", accountName, bucketName, name]
        const { ifTags, idempotencyKey } = yield* decodeRollOptions(options)
        const idempotency = Promises.makeIdempotency(idempotencyKey, operation, [input, ifTags])
        return encodeKey(yield* consumers.rollKey(bucket, name, expiresOn, { ifTags, idempotency }))
      })
    )
})
