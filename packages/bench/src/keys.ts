/**
 * Test data: consumers with one key each, for Tollgate and, with the same values and sizes, for the hand-written baseline.
 */
import { createHmac, randomBytes } from "node:crypto"
import { createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/store"
import { copyConsumer } from "./copyConsumer.ts"

export const account = "bench"
export const secret = "a secret for the benchmarks only"

export interface LoadedGate {
  readonly gate: Tollgate
  readonly keyBucket: LocalKeyBucketHandle
  /** The values of all keys, shuffled. */
  readonly values: ReadonlyArray<string>
}

const makeConsumer = (index: number) => ({
  name: `consumer-${index}`,
  description: "a consumer of typical size",
  tags: { team: `team-${index % 10}`, tier: index % 2 === 0 ? "gold" : "silver" },
  metadata: { plan: "pro", customer: `cus_${index}` }
})

/** Creates few at once, so that no store times out on a busy machine. */
export const createInBatches = async <A>(
  count: number,
  create: (index: number) => Promise<A>
): Promise<ReadonlyArray<A>> => {
  const batchSize = 100
  const created: Array<A> = []
  while (created.length < count) {
    const [first, size] = [created.length, Math.min(batchSize, count - created.length)]
    created.push(...(await Promise.all(Array.from({ length: size }, (_, index) => create(first + index)))))
  }
  return created
}

/** Creates a gate on the store with `count` keys. */
export const load = async (store: StoreOperations, count: number): Promise<LoadedGate> => {
  const gate = await createTollgate({ store, secret })
  const keyBucket = gate.account(account).keyBucket(`keys-${count}`)
  const { apiKeys } = await keyBucket.consumers.create(makeConsumer(0), { withApiKey: true })
  const { bucketName } = keyBucket
  const copies = await copyConsumer({ store, secret, accountName: account, bucketName, count, makeConsumer })
  return { gate, keyBucket, values: shuffle([apiKeys[0].key ?? "", ...copies]) }
}

/** Creates a gate with the same keys on another store with the same data. */
export const reopen = async (
  store: StoreOperations,
  { keyBucket: { bucketName }, values }: LoadedGate
): Promise<LoadedGate> => {
  const gate = await createTollgate({ store, secret })
  return { gate, keyBucket: gate.account(account).keyBucket(bucketName), values }
}

/** Returns a reproducible order that differs from the creation order. */
const shuffle = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.toSorted((left, right) => (left.slice(5) < right.slice(5) ? -1 : 1))

/** A straightforward HMAC-SHA-256. */
export const hashKey = (value: string): string => createHmac("sha256", secret).update(value).digest("base64url")

/** The records that the baseline stores for a key and its consumer. */
export const makeBaselineRecords = (value: string, index: number) => ({
  hash: hashKey(value),
  key: JSON.stringify({
    id: `key_${index}`,
    createdOn: "2026-01-01T00:00:00.000Z",
    updatedOn: "2026-01-01T00:00:00.000Z",
    hint: value.slice(-4),
    sealed: randomBytes(80).toString("base64url")
  }),
  consumer: JSON.stringify({
    id: `csmr_${index}`,
    createdOn: "2026-01-01T00:00:00.000Z",
    updatedOn: "2026-01-01T00:00:00.000Z",
    ...makeConsumer(index)
  })
})

interface BaselineKey {
  readonly id: string
  readonly expiresOn?: string
}

interface BaselineConsumer {
  readonly id: string
  readonly name: string
  readonly tags: object
  readonly metadata: object
}

/** The result of a hand-written verification. */
export const toVerifyResult = (key: string, consumer: string) => {
  const { id, expiresOn } = JSON.parse(key) as BaselineKey
  if (expiresOn !== undefined && Date.parse(expiresOn) <= Date.now()) return undefined
  const { id: consumerId, name, tags, metadata } = JSON.parse(consumer) as BaselineConsumer
  return { keyId: id, consumer: { id: consumerId, name, tags, metadata } }
}
