/**
 * The queue of runs in one process. Accounts take turns, so that an account with many runs does not delay the others.
 */
import { FairQueue } from "@tollgate/core/module"
import type { Project } from "../model/deploymentRecords.ts"

export interface QueuedRun {
  readonly project: Project
  readonly id: string
  /** The version of its record when the process that ran it had died, if there was one. */
  readonly deadRecordVersion?: number | undefined
}

export const makeRunQueue = (slots: number) => {
  const turns = new FairQueue<string>()
  const queued = new Map<string, QueuedRun>()
  /** The account of each run in progress, by run id. */
  const running = new Map<string, string>()

  const countRunningOf = (account: string): number => [...running.values()].filter((other) => other === account).length

  return {
    add: (run: QueuedRun): void => {
      if (running.has(run.id)) return
      queued.set(run.id, run)
      turns.add(run.project.accountName, run.id)
    },
    /** Removes and returns the next run if a slot is free. `finish` frees the slot. */
    next: (): QueuedRun | undefined => {
      if (running.size >= slots) return undefined
      const turn = turns.take(countRunningOf)
      const run = turn === undefined ? undefined : queued.get(turn.item)
      if (run === undefined) return undefined
      queued.delete(run.id)
      running.set(run.id, run.project.accountName)
      return run
    },
    isRunning: (id: string): boolean => running.has(id),
    finish: (id: string): void => void running.delete(id),
    countQueued: (): number => queued.size,
    countRunning: (): number => running.size
  }
}
