/**
 * The load that several processes put on one store concurrently: they create consumers with the same names, roll the
 * same keys, use the same quota, and create keys for consumers that one of them removes.
 */
import { setImmediate } from "node:timers/promises"
import type { Tollgate } from "@tollgate/core"

export const [account, bucket] = ["acme", "b"]
export const names = Array.from({ length: 50 }, (_, index) => `name-${index}`)
/** Consumers that are removed while keys are created for them. */
export const removedConsumers = Array.from({ length: 10 }, (_, index) => `removed-${index}`)
export const quota = 100

/**
 * How many keys each contender creates for a consumer that will be removed. More keys than this prove that several
 * contenders create keys concurrently.
 */
const maxKeysPerContender = 30

export interface ContentionInput {
  /** Contender 0 removes the consumers. */
  readonly contender: number
  readonly bucketId: string
  readonly subscriptionId: string
  /** An API key of the subscription's customer. */
  readonly key: string
}

export interface ContentionResult {
  /** The names of the consumers that this contender created. */
  readonly created: ReadonlyArray<string>
  readonly rolls: number
  /** How often this contender listed the rolled keys, and how often not exactly one of them had no expiry. */
  readonly checks: number
  readonly failedChecks: number
  readonly accepted: number
  readonly overQuota: number
  readonly keysOfRemoved: number
  readonly removalConflicts: number
  /** Keys that are still valid although their consumer was removed. */
  readonly orphans: number
  readonly unexpectedErrors: ReadonlyArray<string>
}

const getTag = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : String(error)

/** Runs one contender's load, all parts concurrently. */
export const compete = async (
  gate: Tollgate,
  { contender, bucketId, subscriptionId, key }: ContentionInput
): Promise<ContentionResult> => {
  const acme = gate.account(account)
  const [keyBucket, meteringBucket] = [acme.keyBucket(bucket), acme.meteringBucket(bucketId)]
  const unexpectedErrors: Array<string> = []
  /** Whether a call succeeded. Records every error except the expected one. */
  const isDone = (call: Promise<unknown>, expectedError: string): Promise<boolean> =>
    call.then(
      () => true,
      (error) => {
        if (getTag(error) !== expectedError) unexpectedErrors.push(getTag(error))
        return false
      }
    )

  const createConsumers = async () => {
    const created: Array<string> = []
    for (const name of names) {
      const creation = keyBucket.consumers.create({ name }, { withApiKey: true })
      if (await isDone(creation, "ConsumerNameTaken")) created.push(name)
    }
    return created
  }

  const rollKeys = async () => {
    let [rolls, checks, failedChecks] = [0, 0, 0]
    for (let round = 0; round < 10; round++) {
      const roll = keyBucket.consumers.rollKey("rolled", { expiresOn: "2041-01-01T00:00:00Z" })
      if (await isDone(roll, "StoreConflict")) rolls++
      const { data } = await keyBucket.keys.list("rolled")
      checks++
      if (data.filter(({ expiresOn }) => expiresOn === undefined).length !== 1) failedChecks++
    }
    return { rolls, checks, failedChecks }
  }

  const useQuota = async () => {
    const bySubscription = Array.from({ length: quota / 2 }, () =>
      isDone(meteringBucket.usage.consume(subscriptionId, { requests: 1 }), "QuotaExceeded")
    )
    const metering = { meteringBucketId: bucketId, meters: { requests: 1 } }
    const byKey = Array.from({ length: quota / 2 }, async () => {
      const result = await keyBucket.authorize(key, { metering })
      if (!result.allowed && result.reason !== "over-quota") unexpectedErrors.push(result.reason)
      return result.allowed
    })
    const uses = await Promise.all([...bySubscription, ...byKey])
    return {
      accepted: uses.filter((isAccepted) => isAccepted).length,
      overQuota: uses.filter((isAccepted) => !isAccepted).length
    }
  }

  /** Creates keys for each consumer until it is removed, and then verifies every key. */
  const createKeysOfRemoved = async () => {
    let [keysOfRemoved, removalConflicts, orphans] = [0, 0, 0]
    for (const name of removedConsumers) {
      const values: Array<string> = []
      const createKey = async () => values.push((await keyBucket.keys.create(name)).key ?? "")
      // Polling yields to the event loop: calls on a memory store do not, and would starve the timers of other retries.
      const pollConsumer = async () => {
        await setImmediate()
        return keyBucket.consumers.get(name)
      }
      const createOrPoll = () => (values.length < maxKeysPerContender ? createKey() : pollConsumer())
      const remove = () => keyBucket.consumers.remove(name)
      do {
        const isContended =
          contender === 0 && (await keyBucket.keys.list(name, { limit: 1 })).total > maxKeysPerContender
        // The removal conflicts as long as other contenders keep creating keys.
        if (isContended) while (!(await isDone(remove(), "StoreConflict"))) removalConflicts++
      } while (await isDone(createOrPoll(), "ConsumerNotFound"))
      keysOfRemoved += values.length
      for (const value of values) if ((await keyBucket.verify(value)).valid) orphans++
    }
    return { keysOfRemoved, removalConflicts, orphans }
  }

  const [created, rolls, uses, removals] = await Promise.all([
    createConsumers(),
    rollKeys(),
    useQuota(),
    createKeysOfRemoved()
  ])
  return { created, ...rolls, ...uses, ...removals, unexpectedErrors }
}
