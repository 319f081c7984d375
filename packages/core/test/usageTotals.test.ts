/**
 * What the usage of a whole metering bucket costs, with as many meters as it may have.
 */
import { createTollgate, InvalidInput } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { isBackgroundCall } from "@tollgate/testing"
import { expect, it } from "vitest"
import { secret } from "./stores.ts"

const dayMs = 24 * 60 * 60 * 1_000

it("reads at most 40,000 counters, in batches of 1,000, and refuses more days of 1,000 meters", async () => {
  const inner = MemoryStore.open()
  const batches: Array<number> = []
  const store: StoreOperations = {
    ...inner,
    counters: (partition, names) => {
      if (!isBackgroundCall("counters", partition, names)) batches.push(names.length)
      return inner.counters(partition, names)
    }
  }
  const gate = await createTollgate({ store, secret })
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  for (let plan = 0; plan < 20; plan++) {
    const names = Array.from({ length: 50 }, (_, index) => `${plan}-${index}`.padEnd(64, "x"))
    const meters = Object.fromEntries(names.map((name) => [name, { max: 1 }]))
    await billing.plans.create({ label: "P", planExternalId: `p${plan}`, meters })
  }
  const read = async (days: number) => {
    batches.length = 0
    const now = Date.now()
    const from = new Date(now - (days - 1) * dayMs).toISOString()
    return billing.usage.totals({ from, to: new Date(now).toISOString() })
  }

  const { data } = await billing.usage.totals()
  expect(data.map(({ meters }) => Object.keys(meters).length)).toEqual(Array(30).fill(1_000))
  expect((await read(40)).data).toHaveLength(40)
  // What was counted, and what was taken back.
  expect(batches).toEqual(Array(80).fill(1_000))
  for (const days of [41, 98, 400]) {
    await expect(read(days)).rejects.toThrow(InvalidInput)
    await expect(read(days)).rejects.toThrow(
      `is required, because 1000 meters in ${days} steps are more than 40000 numbers. Name one meter, or ask for fewer`
    )
    expect(batches).toEqual([])
  }
  await gate.close()
})
