/**
 * Copies a consumer and its key many times. The records are those that the API writes, made by the same functions. They
 * are committed two thousand at once and without events, because a million calls of the API would take ten minutes.
 */
import { AccountName, type ConsumerId, ConsumerName, KeyBucketName, SecretBox } from "@tollgate/core/effect"
import { consumerRecords, keyRecords, makeKey } from "@tollgate/core/internal"
import { type Change, Partition, Store, type StoreOperations } from "@tollgate/store"
import { DateTime, Effect, Option, Redacted } from "effect"

export interface CopyOptions {
  readonly store: StoreOperations
  readonly secret: string
  readonly accountName: string
  readonly bucketName: string
  /** The number of consumers after the copy. */
  readonly count: number
  /** The fields of a consumer. The one with index 0 exists. */
  readonly makeConsumer: (index: number) => { readonly name: string; readonly tags: Record<string, string> }
}

const consumersPerCommit = 1_000

/** An id of the same length: the number of the copy replaces its end. */
const numberId = (id: ConsumerId, index: number): ConsumerId =>
  `${id.slice(0, -7)}${String(index).padStart(7, "0")}` as ConsumerId

/** Returns the values of the new keys. */
export const copyConsumer = ({ store, secret, count, makeConsumer, ...names }: CopyOptions) =>
  Effect.gen(function* () {
    const secretBox = yield* SecretBox
    const partition = Partition.forKeyBucket(names.accountName, names.bucketName)
    const bucket = {
      accountName: AccountName.make(names.accountName),
      bucketName: KeyBucketName.make(names.bucketName)
    }
    const { value: first } = Option.getOrThrow(yield* consumerRecords.get(partition, makeConsumer(0).name))
    const values: Array<string> = []
    for (let start = 1; start < count; start += consumersPerCommit) {
      const now = yield* DateTime.now
      const changes: Array<Change> = []
      for (let index = start; index < Math.min(count, start + consumersPerCommit); index++) {
        const fields = makeConsumer(index)
        const name = ConsumerName.make(fields.name)
        const id = numberId(first.id, index)
        const key = yield* makeKey(secretBox, bucket, { id, name }, {}, now, "")
        changes.push(
          consumerRecords.insert({ ...first, ...fields, name, id, createdOn: now, updatedOn: now }),
          keyRecords.insert(key.stored)
        )
        values.push(key.value)
      }
      yield* store.commit(partition, changes)
    }
    return values
  }).pipe(
    Effect.provideService(Store, store),
    Effect.provide(SecretBox.layer({ secrets: [Redacted.make(secret)] })),
    Effect.runPromise
  )
