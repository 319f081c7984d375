import { createTollgate } from "@tollgate/core"
import type { Change, StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"
import { type ChangeReport, writeChanges } from "./writeChanges.ts"

/** What a commit does with events: it writes them with their change, appends them to the log, or removes them. */
export type EventStep = "change" | "append" | "removal"

/** `during`: the parent kills the process while it commits. Otherwise it kills itself before or after the commit. */
export type KillMoment = "before" | "during" | "after"

export interface KilledWriterInput {
  readonly shared: SharedStore
  readonly secret: string
  /** The prefix of the names of consumers. */
  readonly prefix: string
  /** The process is killed at the n-th commit of this kind, or at the next if that one conflicts. */
  readonly kill: { readonly step: EventStep; readonly moment: KillMoment; readonly count: number }
}

export type KilledWriterMessage = "kill" | ChangeReport

const getStep = (partition: string, changes: ReadonlyArray<Change>): EventStep | undefined => {
  if (partition.startsWith("events/")) return "append"
  const outboxChanges = changes.filter((change) => "key" in change && change.key.startsWith("outbox/"))
  if (outboxChanges.some(({ _tag }) => _tag === "Put")) return "change"
  return outboxChanges.length > 0 ? "removal" : undefined
}

const send = (message: KilledWriterMessage) => process.send?.(message)

/** Makes changes and moves events, also those of other processes, until it is killed. */
process.once("message", async ({ shared, secret, prefix, kill }: KilledWriterInput) => {
  const opened = await openSharedStore(shared)
  let count = 0
  const dieIf = (moment: KillMoment, isDue: boolean) =>
    Effect.sync(() => {
      if (!isDue || kill.moment !== moment) return
      if (moment === "during") send("kill")
      else process.kill(process.pid, "SIGKILL")
    })
  const store: StoreOperations = {
    ...opened,
    commit: (partition, changes, idempotency) => {
      const isDue = getStep(partition, changes) === kill.step && ++count >= kill.count
      return dieIf("before", isDue).pipe(
        Effect.andThen(dieIf("during", isDue)),
        Effect.andThen(opened.commit(partition, changes, idempotency)),
        Effect.tap(() => dieIf("after", isDue))
      )
    }
  }
  const gate = await createTollgate({ store, secret })
  await writeChanges(gate.account("acme"), prefix, send)
})
