/**
 * Kills a process that counts usage by key and label. What it had counted 15 seconds before is in the groups, what it had not
 * written is unknown, and nothing is counted twice.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { createTollgate } from "@tollgate/core"
import { eventually, getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { KilledLabelsInput } from "./labelsKilled.worker.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

let scope: Scope.Closeable
let child: ChildProcess | undefined
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  child?.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

it.each(sharedStoreKinds)(
  "usage by key and label of a process that is killed lacks only its last seconds, on %s",
  async (kind) => {
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const gate = await createTollgate({ store: await openSharedStore(shared), secret })
    const account = gate.account("acme")
    const billing = await account.meteringBuckets.ensure("billing")
    await billing.plans.create({ planExternalId: "pro", meters: { requests: { max: 1_000_000 } } })
    const { apiKeys } = await account.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const read = async (groupBy: string) => {
      const { data } = await billing.customer("alice").series({ groupBy })
      return data.reduce(
        (sums, { meters, groups = [], unknown = {} }) => ({
          total: sums.total + (meters["requests"] ?? 0),
          grouped: sums.grouped + groups.reduce((sum, group) => sum + (group.meters["requests"] ?? 0), 0),
          unknown: sums.unknown + (unknown["requests"] ?? 0)
        }),
        { total: 0, grouped: 0, unknown: 0 }
      )
    }

    const started = fork(new URL("./labelsKilled.worker.ts", import.meta.url), { execArgv: [...getNodeOptions()] })
    child = started
    const input: KilledLabelsInput = { shared, secret, key: apiKeys[0].key ?? "", meteringBucketId: billing.id }
    started.send(input)
    let counted = 0
    started.on("message", (count) => {
      counted = Number(count)
    })
    await once(started, "message")
    const first = performance.now()
    // The use of the first second is there within 15.
    const written = await eventually(async () => {
      const { grouped } = await read("key")
      if (grouped === 0) throw new Error("Nothing is written yet")
      return grouped
    })
    expect(performance.now() - first).toBeLessThan(15_000)
    started.kill("SIGKILL")
    await once(started, "exit")

    const ends = [await read("key"), await read("label:model")]
    for (const { total, grouped, unknown } of ends) {
      // The last request may have been counted without an answer.
      expect(total).toBeGreaterThanOrEqual(counted)
      expect(total).toBeLessThanOrEqual(counted + 1)
      expect(grouped).toBeGreaterThanOrEqual(written)
      expect(grouped + unknown).toBe(total)
      expect(unknown).toBeGreaterThanOrEqual(0)
    }
    await gate.close()
  }
)
