/**
 * The queue of runs in one process. Accounts take turns, so that an account with many runs does not delay the others.
 * Within an account, the oldest run comes first.
 */
import type { Project } from "../model/deploymentRecords.ts"

export interface QueuedRun {
  readonly project: Project
  readonly id: string
  /** The record version whose lease has expired, if another process held the run. */
  readonly expiredRecordVersion?: number | undefined
}

export const makeRunQueue = (slots: number) => {
  let queued: ReadonlyArray<QueuedRun> = []
  /** The account of each run in progress, by run id. */
  const running = new Map<string, string>()
  /** The number of each account's last turn. Only for accounts with queued or active runs. */
  let lastTurns = new Map<string, number>()
  let turn = 0

  const countRunningOf = (account: string): number => [...running.values()].filter((other) => other === account).length

  /** Picks the account with the fewest active runs and, among equals, the one that has waited longest. */
  const pickAccount = (): string | undefined => {
    const accounts = new Set(queued.map(({ project }) => project.accountName))
    const [first] = [...accounts]
      .map((account) => ({ account, load: countRunningOf(account), lastTurn: lastTurns.get(account) ?? 0 }))
      .sort((left, right) => left.load - right.load || left.lastTurn - right.lastTurn)
    return first?.account
  }

  return {
    /** Replaces the queued runs. Expects them oldest first. */
    replace: (runs: ReadonlyArray<QueuedRun>): void => {
      queued = runs.filter(({ id }) => !running.has(id))
      const accounts = new Set<string>([...running.values(), ...queued.map(({ project }) => project.accountName)])
      lastTurns = new Map([...lastTurns].filter(([account]) => accounts.has(account)))
    },
    add: (run: QueuedRun): void => {
      if (!running.has(run.id) && !queued.some(({ id }) => id === run.id)) queued = [...queued, run]
    },
    /** Removes and returns the next run if a slot is free. `finish` frees the slot. */
    next: (): QueuedRun | undefined => {
      if (running.size >= slots) return undefined
      const account = pickAccount()
      const run = queued.find(({ project }) => project.accountName === account)
      if (run === undefined) return undefined
      queued = queued.filter(({ id }) => id !== run.id)
      running.set(run.id, run.project.accountName)
      lastTurns.set(run.project.accountName, ++turn)
      return run
    },
    finish: (id: string): void => void running.delete(id),
    countQueued: (): number => queued.length,
    countRunning: (): number => running.size
  }
}
