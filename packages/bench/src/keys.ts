/**
 * Consumers with a key each, in a gate and in the hand-written floor beside it: the same values, the same sizes.
 */
import { createHmac, randomBytes } from "node:crypto"
import { createTollgate, type StoreOperations, type Tollgate } from "@tollgate/core"

export const account = "bench"
export const secret = "a secret of the benchmarks, and of nobody else"

const batch = 500
const keysPerConsumer = 1

export interface Loaded {
  readonly gate: Tollgate
  readonly bucket: string
  /** The values of all keys, in no particular order. */
  readonly values: ReadonlyArray<string>
}

const consumerAt = (index: number) => ({
  name: `consumer-${index}`,
  description: "a consumer of usual size",
  tags: { team: `team-${index % 10}`, tier: index % 2 === 0 ? "gold" : "silver" },
  metadata: { plan: "pro", customer: `cus_${index}` }
})

/** A gate over the store, with so many keys in it. */
export const load = async (store: StoreOperations, count: number): Promise<Loaded> => {
  const gate = await createTollgate({ store, secret })
  const bucket = `keys-${count}`
  const values: Array<string> = []
  for (let first = 0; first < count; first += batch) {
    const made = await Promise.all(
      Array.from({ length: Math.min(batch, count - first) }, (_, index) =>
        gate.consumers.create(account, bucket, consumerAt(first + index), { withApiKey: keysPerConsumer === 1 })
      )
    )
    for (const { apiKeys } of made) values.push(apiKeys?.[0]?.key ?? "")
  }
  return { gate, bucket, values: shuffle(values) }
}

/** The same order every time, and not that of their creation. */
const shuffle = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.toSorted((left, right) => (left.slice(5) < right.slice(5) ? -1 : 1))

/** HMAC-SHA-256 under a secret, as anybody writes it. */
export const hashKey = (value: string): string => createHmac("sha256", secret).update(value).digest("base64url")

/** What the floor stores of a key and of its consumer. */
export const baselineRecords = (value: string, index: number) => ({
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
    ...consumerAt(index)
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

/** What a hand-written verification answers. */
export const toVerifyResult = (key: string, consumer: string) => {
  const { id, expiresOn } = JSON.parse(key) as BaselineKey
  if (expiresOn !== undefined && Date.parse(expiresOn) <= Date.now()) return undefined
  const { id: consumerId, name, tags, metadata } = JSON.parse(consumer) as BaselineConsumer
  return { keyId: id, consumer: { id: consumerId, name, tags, metadata } }
}
