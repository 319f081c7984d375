/**
 * Iterating over all pages of a list.
 */
import { expect, it } from "@effect/vitest"
import { createTollgate, StoreUnavailable } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Effect } from "effect"
import { secret } from "./stores.ts"

it("returns every metering bucket once, also while the removal of another is interrupted", async () => {
  const memory = MemoryStore.open()
  const clear = () => Effect.fail(new StoreUnavailable({ operation: "clear", problem: "test", outcome: "not-applied" }))
  const gate = await createTollgate({ store: { ...memory, clear }, secret })
  const { meteringBuckets } = gate.account("acme")
  const ids: Array<string> = []
  for (let index = 0; index < 6; index++) ids.push((await meteringBuckets.create()).id)
  await expect(meteringBuckets.remove(ids[0] ?? "")).rejects.toBeInstanceOf(StoreUnavailable)
  for (const limit of [1, 2, 3, 5, 6, 1_000]) {
    const found: Array<string> = []
    for await (const { id } of meteringBuckets.list({ limit })) found.push(id)
    expect(found).toEqual(ids.slice(1))
  }
  await gate.close()
})
