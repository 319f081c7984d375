/**
 * The runs that a process has found to do, and which of them comes next: accounts take turns, so that the many runs of
 * one do not delay the single run of another. Within an account, the oldest comes first.
 */
import type { Project } from "../model/deploymentRecords.ts"

export interface WaitingRun {
  readonly project: Project
  readonly id: string
  /** The record's version whose lease has lapsed, if another process held the run. */
  readonly lapsedVersion?: number | undefined
}

export const makeRunQueue = (slots: number) => {
  let waiting: ReadonlyArray<WaitingRun> = []
  /** The account of each run that is running here. */
  const running = new Map<string, string>()
  /** When an account last had its turn, for those that have something to run. */
  let lastTurns = new Map<string, number>()
  let turn = 0

  const countRunning = (account: string): number => [...running.values()].filter((other) => other === account).length

  /** The account that runs the least here and, among equals, has waited longest for its turn. */
  const nextAccount = (): string | undefined => {
    const accounts = new Set(waiting.map(({ project }) => project.accountName))
    const [first] = [...accounts]
      .map((account) => ({ account, load: countRunning(account), lastTurn: lastTurns.get(account) ?? 0 }))
      .sort((left, right) => left.load - right.load || left.lastTurn - right.lastTurn)
    return first?.account
  }

  return {
    /** Replaces what is waiting by what was found now, oldest first. */
    replace: (found: ReadonlyArray<WaitingRun>): void => {
      waiting = found.filter(({ id }) => !running.has(id))
      const accounts = new Set<string>([...running.values(), ...waiting.map(({ project }) => project.accountName)])
      lastTurns = new Map([...lastTurns].filter(([account]) => accounts.has(account)))
    },
    add: (run: WaitingRun): void => {
      if (!running.has(run.id) && !waiting.some(({ id }) => id === run.id)) waiting = [...waiting, run]
    },
    /** Takes the next run out, if there is one and a slot for it; `finish` frees the slot. */
    next: (): WaitingRun | undefined => {
      if (running.size >= slots) return undefined
      const account = nextAccount()
      const run = waiting.find(({ project }) => project.accountName === account)
      if (run === undefined) return undefined
      waiting = waiting.filter(({ id }) => id !== run.id)
      running.set(run.id, run.project.accountName)
      lastTurns.set(run.project.accountName, ++turn)
      return run
    },
    finish: (id: string): void => void running.delete(id)
  }
}
