/**
 * A load of writes on a gate whose store fails meanwhile, and the checks of its outcome: no acknowledged write is lost,
 * none is partial, and none is counted twice.
 */
import type { Tollgate } from "@tollgate/core"
import { makeSubscription } from "@tollgate/testing"
import { expect, vi } from "vitest"

export type AcknowledgedWrites = ReadonlyArray<readonly [name: string, key: string]>

export interface WriteLoad {
  /** Waits until this many more writes are acknowledged. */
  readonly waitForWrites: (count: number) => Promise<void>
  /** Stops the load, checks its outcome, and returns how many calls failed and a summary. */
  readonly finish: () => Promise<{ readonly rejected: number; readonly summary: string }>
}

/** Counts acknowledged consumers that are lost, and consumers without exactly one key (partial writes). */
export const checkConsumers = async (gate: Tollgate, acknowledged: AcknowledgedWrites) => {
  const keyBucket = gate.account("acme").keyBucket("b")
  let [lost, partial] = [0, 0]
  const isLost = async ([name, key]: AcknowledgedWrites[number]) => {
    const result = await keyBucket.verify(key)
    return !result.valid || result.consumer.name !== name
  }
  for (let first = 0; first < acknowledged.length; first += 100) {
    const results = await Promise.all(acknowledged.slice(first, first + 100).map(isLost))
    lost += results.filter((result) => result).length
  }
  for (let offset = 0; ; offset += 1000) {
    // Values are not read: the event of that cannot be written while the disk is full.
    const { data, total } = await keyBucket.consumers.list({ offset, apiKeys: true })
    for (const { apiKeys } of data) if (apiKeys?.length !== 1) partial++
    if (offset + data.length >= total) return { lost, partial, total }
  }
}

/** Creates consumers in four lanes and consumes a quota in four others. A call may only fail with `StoreUnavailable`. */
export const startWriteLoad = async (gate: Tollgate): Promise<WriteLoad> => {
  const acme = gate.account("acme")
  const keyBucket = acme.keyBucket("b")
  const meteringBucket = acme.meteringBucket((await acme.meteringBuckets.create()).id)
  const plan = await meteringBucket.plans.create({
    label: "P",
    planExternalId: "p",
    meters: { requests: { max: 1e9 } }
  })
  const { id } = await meteringBucket.subscriptions.create(
    makeSubscription(plan.id, "p", { renewalStrategy: "yearly" as const, customerKey: "c" })
  )
  const acknowledged: Array<readonly [string, string]> = []
  const unexpectedErrors: Array<unknown> = []
  let [consumed, rejected, unknownOutcomes, isOver] = [0, 0, 0, false]
  const recordError = (error: { readonly _tag?: string; readonly outcome?: string }) => {
    rejected++
    if (error._tag !== "StoreUnavailable") unexpectedErrors.push(error)
  }
  const create = async (lane: number) => {
    for (let index = 0; !isOver; index++) {
      await keyBucket.consumers
        .create({ name: `c-${lane}-${index}` }, { withApiKey: true })
        .then(({ name, apiKeys }) => acknowledged.push([name, apiKeys[0].key ?? ""]), recordError)
    }
  }
  const consume = async () => {
    while (!isOver) {
      await meteringBucket.usage.consume(id, { requests: 1 }).then(
        () => consumed++,
        (error) => {
          recordError(error)
          if (error.outcome === "unknown") unknownOutcomes++
        }
      )
    }
  }
  const lanes = [...Array.from({ length: 4 }, (_, lane) => create(lane)), ...Array.from({ length: 4 }, consume)]
  return {
    waitForWrites: async (count) => {
      const target = acknowledged.length + count
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(target), { timeout: 30_000, interval: 10 })
    },
    finish: async () => {
      isOver = true
      await Promise.all(lanes)
      const { lost, partial } = await checkConsumers(gate, acknowledged)
      const used = (await meteringBucket.usage.quotas(id)).meters["requests"]?.used ?? 0
      expect(unexpectedErrors).toEqual([])
      expect({ lost, partial }).toEqual({ lost: 0, partial: 0 })
      expect(used).toBeGreaterThanOrEqual(consumed)
      expect(used).toBeLessThanOrEqual(consumed + unknownOutcomes)
      const summary =
        `${acknowledged.length + consumed} writes acknowledged, ${lost} lost, ${partial} partial, ${rejected} rejected; ` +
        `${used} counted of ${consumed} (${unknownOutcomes} with an unknown outcome)`
      return { rejected, summary }
    }
  }
}
