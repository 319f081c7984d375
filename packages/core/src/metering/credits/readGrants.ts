/**
 * Shows grants with what the open segment has charged to them. Reads again if a segment was closed meanwhile.
 */

import { type Entry, Partition, retryOnConflict, Store, StoreConflict } from "@tollgate/store/internal"
import { Effect } from "effect"
import { creditRecords, getMeterCredit, readCreditAccount } from "../model/Credit.ts"
import { type Grant, type StoredGrant, toGrant } from "../model/Grant.ts"
import { getCharges } from "./settleMeter.ts"

/** Reads grants of a customer by `read`, of one version of its credit. */
export const readGrantsOf = <A, E, R>(
  bucketId: string,
  customerKey: string,
  read: Effect.Effect<A, E, R>,
  getEntries: (read: A) => ReadonlyArray<Entry<StoredGrant>>
) =>
  retryOnConflict(
    Effect.gen(function* () {
      const partition = Partition.forMeteringBucket(bucketId)
      const store = yield* Store
      const { credit } = yield* readCreditAccount(partition, customerKey)
      const found = yield* read
      const entries = getEntries(found)
      const meters = new Set(entries.map(({ value }) => value.meter))
      const charged = new Map<string, number>()
      for (const meter of meters) {
        const stored = credit && getMeterCredit(credit.value, meter)
        if (stored?.open === undefined) continue
        const [value = 0] = yield* store.counters(partition, [stored.open.counter])
        for (const { id, amount } of getCharges(stored, value)?.given ?? []) charged.set(id, amount)
      }
      const { credit: after } = yield* readCreditAccount(partition, customerKey)
      if (after?.version !== credit?.version) {
        return yield* new StoreConflict({ reason: "stale", subject: creditRecords.recordKey(customerKey) })
      }
      const grants: ReadonlyArray<Grant> = entries.map(({ value }) => toGrant(value, charged.get(value.id)))
      return { found, grants }
    })
  )
