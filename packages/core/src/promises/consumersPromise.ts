/**
 * Consumers for callers outside Effect.
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

const View = {
  apiKeys: Schema.optionalKey(Schema.Boolean),
  managers: Schema.optionalKey(Schema.Boolean),
  managerInvites: Schema.optionalKey(Schema.Boolean),
  keyFormat: Schema.optionalKey(KeyVisibility)
}
const ListQuery = Schema.Struct({
  ...View,
  ...PageQuery.fields,
  tags: Schema.optionalKey(TagFilter),
  managerEmail: Schema.optionalKey(Email)
})
const GetOptions = Schema.Struct({ ...View, ifTags: Schema.optionalKey(TagFilter) })
const IfTags = Schema.Struct({ ifTags: Schema.optionalKey(TagFilter) })
const CreateOptions = Schema.Struct({
  withApiKey: Schema.optionalKey(Schema.Boolean),
  idempotencyKey: Schema.optionalKey(Promises.IdempotencyKey)
})
const RollOptions = Schema.Struct({
  ifTags: Schema.optionalKey(TagFilter),
  idempotencyKey: Schema.optionalKey(Promises.IdempotencyKey)
})

const listQuery = Promises.decodeParameters(ListQuery)
const getOptions = Promises.decodeParameters(GetOptions)
const decodeIfTags = Promises.decodeParameters(IfTags)
const createOptions = Promises.decodeParameters(CreateOptions)
const rollOptions = Promises.decodeParameters(RollOptions)
const createBody = Promises.decodeBody(ConsumerCreate)
const updateBody = Promises.decodeBody(ConsumerUpdate)
const rollBody = Promises.decodeBody(Schema.Struct({ expiresOn: Timestamp }))
const encode = Promises.encoder(Consumer)
const encodeKey = Promises.encoder(ApiKey)
const encodePage = Promises.encoder(Page(Consumer))

export const consumersPromise = (consumers: Consumers["Service"]) => ({
  /** A page of consumers, oldest first. */
  list: (
    accountName: string,
    bucketName: string,
    query: typeof ListQuery.Encoded = {}
  ): Promise<PageJson<ConsumerJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        return encodePage(yield* consumers.list(bucket, { ...firstPage, ...(yield* listQuery(query)) }))
      })
    ),

  /** Makes a consumer; the keys that are made with it are in the answer, with their values. */
  create: (
    accountName: string,
    bucketName: string,
    input: typeof ConsumerCreate.Encoded,
    options: typeof CreateOptions.Encoded = {}
  ): Promise<ConsumerJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        const operation = ["consumers.create", accountName, bucketName]
        const { withApiKey, idempotencyKey } = yield* createOptions(options)
        const consumer = yield* createBody(input)
        const idempotency = Promises.idempotency(idempotencyKey, operation, [input, withApiKey])
        const decoded = { withApiKey, idempotency }
        return encode((yield* consumers.create(bucket, consumer, decoded)).value)
      })
    ),

  get: (
    accountName: string,
    bucketName: string,
    name: string,
    options: typeof GetOptions.Encoded = {}
  ): Promise<ConsumerJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        return encode((yield* consumers.get(bucket, name, yield* getOptions(options))).value)
      })
    ),

  update: (
    accountName: string,
    bucketName: string,
    name: string,
    patch: typeof ConsumerUpdate.Encoded,
    options: typeof IfTags.Encoded = {}
  ): Promise<ConsumerJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        return encode(
          (yield* consumers.update(bucket, name, yield* updateBody(patch), yield* decodeIfTags(options))).value
        )
      })
    ),

  /** Removes a consumer with its keys, managers and invites. */
  remove: (accountName: string, bucketName: string, name: string, options: typeof IfTags.Encoded = {}): Promise<void> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        yield* consumers.remove(bucket, name, yield* decodeIfTags(options))
      })
    ),

  /** Sets `expiresOn` on every key that has no expiry, and makes a new key, which is answered with its value. */
  rollKey: (
    accountName: string,
    bucketName: string,
    name: string,
    input: { readonly expiresOn: string },
    options: typeof RollOptions.Encoded = {}
  ): Promise<ApiKeyJson> =>
    Promises.run(
      Effect.gen(function* () {
        const bucket = yield* Promises.keyBucket(accountName, bucketName)
        const { expiresOn } = yield* rollBody(input)
        const operation = ["consumers.rollKey", accountName, bucketName, name]
        const { ifTags, idempotencyKey } = yield* rollOptions(options)
        const decoded = {
          ifTags,
          idempotency: Promises.idempotency(idempotencyKey, operation, [input, ifTags])
        }
        return encodeKey(yield* consumers.rollKey(bucket, name, expiresOn, decoded))
      })
    )
})
