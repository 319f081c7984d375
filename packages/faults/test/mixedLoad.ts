/**
 * Random operations of one process on a store that it shares with others: it creates, removes, rolls, verifies, meters
 * and lists the same consumers and keys as they do, and removes metering buckets of its own.
 */
import { isDeepStrictEqual } from "node:util"
import type { Tollgate } from "@tollgate/core"
import { makeSubscription } from "@tollgate/testing"
import { makeRandom } from "./random.ts"

export const [account, bucket] = ["acme", "b"]
const concurrency = 8
const nameCount = 100

export interface MixedLoadInput {
  readonly process: number
  readonly seed: number
  readonly durationMs: number
  /** A metering bucket with a plan of a large quota and of a rate limit, and a subscription of `customer`. */
  readonly bucketId: string
  readonly subscriptionId: string
  readonly customerKey: string
}

export interface MixedLoadResult {
  /** How often each operation ended in which way. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly consumed: number
  /** Errors that no caller expects. */
  readonly failures: ReadonlyArray<string>
}

/** The errors that other callers cause: they have created or removed the record, or change it at the same time. */
const expectedErrors = ["ConsumerNameTaken", "ConsumerNotFound", "KeyNotFound", "StoreConflict"]

export const runMixedLoad = async (gate: Tollgate, input: MixedLoadInput): Promise<MixedLoadResult> => {
  const { below, pick } = makeRandom(input.seed)
  const acme = gate.account(account)
  const [keyBucket, meteringBucket] = [acme.keyBucket(bucket), acme.meteringBucket(input.bucketId)]
  const outcomes: Record<string, number> = {}
  const failures: Array<string> = []
  const keys: Array<string> = []
  let [consumed, sequence] = [0, 0]
  const pickName = () => `c-${below(nameCount)}`
  const rememberKey = (key = "") => {
    keys[below(500)] = key
  }

  const operations: Readonly<Record<string, () => Promise<unknown>>> = {
    create: async () => {
      const tags = { team: pick(["red", "blue"]) }
      rememberKey((await keyBucket.consumers.create({ name: pickName(), tags }, { withApiKey: true })).apiKeys[0].key)
    },
    remove: () => keyBucket.consumers.remove(pickName()),
    update: () => keyBucket.consumers.update(pickName(), { tags: { team: pick(["red", "blue"]) } }),
    createKey: async () => rememberKey((await keyBucket.keys.create(pickName())).key),
    rollKey: () => keyBucket.consumers.rollKey(pickName(), { expiresOn: "2041-01-01T00:00:00Z" }),
    verify: () => keyBucket.verify(pick(keys)),
    list: () => keyBucket.consumers.list({ tags: { team: "red" }, limit: 20, apiKeys: true }),
    consume: async () => {
      await meteringBucket.usage.consume(input.subscriptionId, { requests: 1 })
      consumed++
    },
    authorize: async () => {
      const metering = { meteringBucketId: input.bucketId, meters: { requests: 1 } }
      const result = await keyBucket.authorize(input.customerKey, { metering })
      if (result.allowed) consumed++
      else if (result.reason !== "rate-limited") throw new Error(`The key was refused: ${result.reason}`)
    },
    repeat: async () => {
      const name = `once-${input.process}-${sequence++}`
      const create = () => keyBucket.consumers.create({ name }, { withApiKey: true, idempotencyKey: name })
      const results = await Promise.all([create(), create(), create()])
      if (!results.every((result) => isDeepStrictEqual(result, results[0]))) throw new Error("A repeat differs")
      await keyBucket.consumers.remove(name)
    },
    clear: async () => {
      const own = acme.meteringBucket((await acme.meteringBuckets.create()).id)
      const plan = { label: "P", planExternalId: "p", meters: { requests: { max: 10 } } }
      const { id } = await own.subscriptions.create(makeSubscription((await own.plans.create(plan)).id, "p", {}))
      await own.usage.consume(id, { requests: 1 })
      await acme.meteringBuckets.remove(own.id)
    }
  }

  const end = performance.now() + input.durationMs
  const runOperations = async () => {
    while (performance.now() < end) {
      const [name, run] = pick(Object.entries(operations))
      const outcome = await run().then(
        () => "done",
        (error) => {
          const tag = String(error?._tag ?? error)
          if (!expectedErrors.includes(tag)) failures.push(`${name}: ${tag} ${error?.message} ${error?.cause}`)
          return tag
        }
      )
      outcomes[`${name} ${outcome}`] = (outcomes[`${name} ${outcome}`] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: concurrency }, runOperations))
  return { outcomes, consumed, failures }
}
