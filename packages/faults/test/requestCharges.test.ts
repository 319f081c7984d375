/**
 * A request that is charged only if it succeeds is charged exactly once, also if it is ended twice, if its charge fails
 * with an unknown outcome, or if it ends after its reservation has expired.
 */

import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { describe, expect, it } from "vitest"
import { secret, setUpStore, stores } from "./stores.ts"
import { makeMovableClock, openUsageGate, start } from "./usageGate.ts"
import { dayMs, hourMs } from "./usageReadings.ts"

describe.each(stores)("on %s", (_, layer) => {
  const makeEmptyStore = setUpStore(layer)

  const reserveForRequest = async () => {
    const { store, injectAt } = makeFaultyStore(makeEmptyStore(), isBackgroundCall)
    const clock = makeMovableClock(start)
    const gate = await openUsageGate(store, clock, secret)
    const bucketId = await gate.createBucket()
    const subscription = await gate.subscribe(bucketId, "alice", { requests: 100 })
    const entry = await gate.reserveForRequest(bucketId, subscription, { requests: 7 })
    return {
      clock,
      injectAt,
      charge: () => gate.chargeRequest(bucketId, entry),
      release: () => gate.releaseRequest(bucketId, entry),
      /** Fails, and gives back the reservation if it has expired. */
      settle: () => gate.settle(bucketId, subscription, entry.value.id, {}),
      /** In all periods. */
      readUsed: async () => {
        const { data } = await gate.series(bucketId, subscription, "period", start)
        return data.reduce((sum, { meters }) => sum + (meters["requests"] ?? 0), 0)
      },
      close: gate.close
    }
  }

  it("a request that was released is not charged afterwards", async () => {
    const { charge, release, readUsed, close } = await reserveForRequest()
    await release()
    await charge()
    expect(await readUsed()).toBe(0)
    await close()
  })

  it("a request whose charge lost its reply is charged once when it is charged again", async () => {
    const { injectAt, charge, readUsed, close } = await reserveForRequest()
    injectAt(1, "lose-reply")
    await expect(charge()).rejects.toMatchObject({ _tag: "StoreUnavailable", outcome: "unknown" })
    await charge()
    expect(await readUsed()).toBe(7)
    await close()
  })

  describe.each([
    ["an hour", hourMs, "ReservationExpired"],
    ["a week", 7 * dayMs, "ReservationNotFound"]
  ])("a request that ends %s later", (_, later, error) => {
    it("is charged once if its reservation was given back", async () => {
      const { clock, charge, settle, readUsed, close } = await reserveForRequest()
      clock.set(start + later)
      await expect(settle()).rejects.toMatchObject({ _tag: error })
      await charge()
      await charge()
      expect(await readUsed()).toBe(7)
      await close()
    })

    it("is charged once if its reservation was not given back yet", async () => {
      const { clock, charge, release, readUsed, close } = await reserveForRequest()
      clock.set(start + later)
      await charge()
      await charge()
      await release()
      expect(await readUsed()).toBe(7)
      await close()
    })
  })
})
