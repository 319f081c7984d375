/**
 * Records that grants were used up, when a count has reached the end of one. The segment stays open: what is given back in it is
 * as if it had not been taken. If the process dies before, the next count does it. A failure never affects what was counted.
 */

import { BoundedMap, Partition, Store, type StoreOperations } from "@tollgate/store/internal"
import { Effect } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import { assertCreditUnchanged, getMeterCredit, readCreditAccount } from "../model/Credit.ts"
import { getCreditUsed } from "../model/creditTerms.ts"
import type { Entitlement, PeriodLimits } from "../model/Entitlement.ts"
import { toGrant } from "../model/Grant.ts"
import { meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordGrantEvent } from "../model/meteringEvents.ts"
import { grantRecords, readGrants } from "./grantRecords.ts"
import { getCharges } from "./settleMeter.ts"

/** How many segments a process remembers, so that it does not look at them again. */
const maxRemembered = 10_000

type Used = Readonly<Record<string, { readonly used: number }>>

export const makeNoteDepleted = (store: StoreOperations) => {
  /** By segment: how much credit is used when the next grant is used up. */
  const nextDepletions = new BoundedMap<string, number>(maxRemembered)

  const note = Effect.fnUntraced(function* ({ bucketEntry, subscription }: Entitlement, meter: string, key: string) {
    const partition = Partition.forMeteringBucket(bucketEntry.value.id)
    const account = yield* readCreditAccount(partition, subscription.value.customerKey)
    const credit = account.credit && getMeterCredit(account.credit.value, meter)
    if (credit?.open === undefined) return
    const { counter, sources } = credit.open
    const [value = 0] = yield* store.counters(partition, [counter])
    const given = new Map(getCharges(credit, value)?.given.map(({ id, amount }) => [id, amount]))
    const depleted = sources.filter(({ id, amount }) => given.get(id) === amount)
    const entries = yield* readGrants(
      partition,
      depleted.map(({ id }) => id)
    )
    const unknown = entries.filter((entry) => entry.value.isDepletionKnown !== true)
    if (unknown.length > 0) {
      const events = yield* asSystem(
        Effect.forEach(unknown, ({ value: grant }) =>
          recordGrantEvent("grant.depleted", bucketEntry.value, toGrant(grant, grant.amount - grant.used))
        )
      )
      yield* store.commit(partition, [
        meteringBucketRecords.assertUnchanged(bucketEntry),
        assertCreditUnchanged(account),
        ...unknown.map((entry) => grantRecords.replace(entry, { ...entry.value, isDepletionKnown: true })),
        ...events
      ])
    }
    const total = depleted.reduce((sum, { amount }) => sum + amount, 0)
    nextDepletions.set(key, total + (sources[depleted.length]?.amount ?? Number.POSITIVE_INFINITY))
  })

  return (entitlement: Entitlement, { meters }: PeriodLimits, counted: Used): Effect.Effect<void> | undefined => {
    for (const meter in counted) {
      const { credit, counter = "" } = meters.get(meter) ?? {}
      if (credit?.segment === undefined) continue
      const creditUsed = getCreditUsed(credit, counted[meter]?.used ?? 0)
      if (creditUsed < credit.first) continue
      const key = `${counter} ${credit.segment}`
      if (creditUsed < (nextDepletions.get(key) ?? 0)) continue
      return note(entitlement, meter, key).pipe(
        Effect.provideService(Store, store),
        Effect.matchCauseEffect({
          onFailure: (cause) => Effect.logDebug("Recording that a grant was used up failed", cause),
          onSuccess: () => Effect.void
        })
      )
    }
    return undefined
  }
}
