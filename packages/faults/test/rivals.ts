/**
 * What several who share a store do at the same time: they want the same names, roll the same keys, use the same quota,
 * and make keys for a consumer that one of them removes.
 */
import type { Tollgate } from "@tollgate/core"

export const [account, bucket] = ["acme", "b"]
export const names = Array.from({ length: 50 }, (_, index) => `name-${index}`)
export const rounds = Array.from({ length: 10 }, (_, index) => `leaving-${index}`)
export const quota = 100

/** As many as one rival makes for a consumer that is to go: when there are more, the rivals have met. */
const ownKeys = 30

export interface Stakes {
  /** The first of them removes consumers. */
  readonly seat: number
  readonly bucketId: string
  readonly subscriptionId: string
  /** Of the customer whose subscription it is. */
  readonly key: string
}

export interface RivalResult {
  /** The names that this one was told to have made. */
  readonly won: ReadonlyArray<string>
  readonly rolled: number
  /** How often it looked at the keys that are rolled, and how often not exactly one was without an expiry. */
  readonly looks: number
  readonly wrongLooks: number
  readonly accepted: number
  readonly over: number
  readonly madeForLeaving: number
  readonly refusedRemovals: number
  /** Keys of consumers that are gone which let somebody in. */
  readonly orphans: number
  /** Whatever else anybody was told. */
  readonly others: ReadonlyArray<string>
}

const tagOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : String(error)

/** One rival's part, everything at once. */
export const compete = async (
  gate: Tollgate,
  { seat, bucketId, subscriptionId, key }: Stakes
): Promise<RivalResult> => {
  const others: Array<string> = []
  /** Whether it was done, and not refused as it may be. */
  const isDone = (work: Promise<unknown>, refusal: string): Promise<boolean> =>
    work.then(
      () => true,
      (error) => {
        if (tagOf(error) !== refusal) others.push(tagOf(error))
        return false
      }
    )

  const create = async () => {
    const won: Array<string> = []
    for (const name of names) {
      const made = gate.consumers.create(account, bucket, { name }, { withApiKey: true })
      if (await isDone(made, "ConsumerNameTaken")) won.push(name)
    }
    return won
  }

  const roll = async () => {
    let [rolled, looks, wrongLooks] = [0, 0, 0]
    for (let turn = 0; turn < 10; turn++) {
      const roll = gate.consumers.rollKey(account, bucket, "rolled", { expiresOn: "2041-01-01T00:00:00Z" })
      if (await isDone(roll, "StoreConflict")) rolled++
      const { data } = await gate.keys.list(account, bucket, "rolled")
      looks++
      if (data.filter(({ expiresOn }) => expiresOn === undefined).length !== 1) wrongLooks++
    }
    return { rolled, looks, wrongLooks }
  }

  const use = async () => {
    const direct = Array.from({ length: quota / 2 }, () =>
      isDone(gate.usage.consume(bucketId, subscriptionId, { requests: 1 }), "QuotaExceeded")
    )
    const metering = { meteringBucketId: bucketId, meters: { requests: 1 } }
    const byKey = Array.from({ length: quota / 2 }, async () => {
      const answer = await gate.authorize({ account, bucket, key, metering })
      if (!answer.allowed && answer.reason !== "over-quota") others.push(answer.reason)
      return answer.allowed
    })
    const uses = await Promise.all([...direct, ...byKey])
    return { accepted: uses.filter((isAccepted) => isAccepted).length, over: uses.filter((one) => !one).length }
  }

  /** Makes keys for each consumer until it is gone; then none of them lets anybody in. */
  const leave = async () => {
    let [madeForLeaving, refusedRemovals, orphans] = [0, 0, 0]
    for (const name of rounds) {
      const values: Array<string> = []
      const make = async () => values.push((await gate.keys.create(account, bucket, name)).key ?? "")
      // Whoever has made enough waits for the end.
      const next = () => (values.length < ownKeys ? make() : gate.consumers.get(account, bucket, name))
      const remove = () => gate.consumers.remove(account, bucket, name)
      do {
        const isMet = seat === 0 && (await gate.keys.list(account, bucket, name, { limit: 1 })).total > ownKeys
        // It may be told to come again, where others are faster all the time.
        if (isMet) while (!(await isDone(remove(), "StoreConflict"))) refusedRemovals++
      } while (await isDone(next(), "ConsumerNotFound"))
      madeForLeaving += values.length
      for (const value of values) if ((await gate.keys.verify(account, bucket, value)).valid) orphans++
    }
    return { madeForLeaving, refusedRemovals, orphans }
  }

  const [won, rolls, uses, left] = await Promise.all([create(), roll(), use(), leave()])
  return { won, ...rolls, ...uses, ...left, others }
}
