/**
 * `onEvent` while other processes drop old events from the log, which moves the places of all others.
 */
import type { EventJson, Tollgate } from "@tollgate/core"
import { Partition, type StoreQuery } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { eventually } from "@tollgate/testing"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { freshAccount, openGate, readLog, useGate } from "./eventGates.ts"
import { stores } from "./stores.ts"

const createConsumers = async (gate: Tollgate, accountName: string, names: ReadonlyArray<string>) => {
  for (const name of names) await gate.account(accountName).keyBucket("production").consumers.create({ name })
}

/** Whether a hook reads the events after the last one that it has handled. To find their place, it reads single ones. */
const isHookRead = (operation: string, items: unknown): boolean =>
  operation === "list" &&
  (items as ReadonlyArray<StoreQuery>).some(
    ({ indexTerms, offset, limit }) => indexTerms.includes("event") && offset > 0 && limit > 1
  )

describe.each(stores)("onEvent, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)

  it("skips no event if old ones are dropped after their place was found and before they are read", async () => {
    const accountName = freshAccount()
    const [handled, added] = [
      ["c-0", "c-1", "c-2", "c-3", "c-4"],
      ["c-5", "c-6", "c-7"]
    ]
    const calls: Array<string | undefined> = []
    const onEvent = ({ subject }: EventJson) => void calls.push(subject.name)
    const earlier = await openGate(store(), { onEvent })
    await createConsumers(earlier, accountName, handled)
    await eventually(() => expect(calls).toEqual(handled))
    await earlier.close()
    await createConsumers(gate(), accountName, added)
    expect(await readLog(store(), gate(), accountName)).toHaveLength(8)

    const dropping = await openGate(store(), { events: { maxEventsPerAccount: 6 } })
    const faulty = makeFaultyStore(
      store(),
      (operation, partition, items) => partition !== Partition.forEvents(accountName) || !isHookRead(operation, items)
    )
    // The first read only finds out that there are events.
    faulty.injectAt(2, { interleave: Effect.promise(() => dropping.account(accountName).events.list()) })
    const later = await openGate(faulty.store, { onEvent })
    await eventually(() => expect(calls.at(-1)).toBe("c-7"))
    await later.close()
    await dropping.close()
    expect(calls).toEqual([...handled, ...added])
    expect((await readLog(store(), gate(), accountName)).map(({ subject }) => subject.name)).toEqual([
      ...handled.slice(2),
      ...added
    ])
  })
})
