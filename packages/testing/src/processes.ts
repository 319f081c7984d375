/**
 * Finds and kills the processes that another process has started. Reads /proc where it exists, because `ps` is not
 * part of every Linux image.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { eventually } from "./eventually.ts"

interface Process {
  readonly pid: number
  readonly parent: number
}

const readLinuxProcesses = (): ReadonlyArray<Process> =>
  readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return []
    try {
      // The name in parentheses may contain spaces; the state and the parent follow it.
      const [state, parent] = (readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1) ?? "").split(" ")
      return state === "Z" ? [] : [{ pid: Number(pid), parent: Number(parent) }]
    } catch {
      // The process has exited since the folder was read.
      return []
    }
  })

const readProcesses = (): ReadonlyArray<Process> =>
  execFileSync("ps", ["-A", "-o", "pid=,ppid=,state="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([pid, , state]) => pid !== "" && state?.startsWith("Z") === false)
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }))

/** The running processes, without those that have exited and wait for their parent to notice. */
const listProcesses = existsSync("/proc/self/stat") ? readLinuxProcesses : readProcesses

/** The children of a process, without their own children. */
export const listChildren = (parent: number): ReadonlyArray<number> =>
  listProcesses()
    .filter((process) => process.parent === parent)
    .map(({ pid }) => pid)

/** Sends a signal to those processes that still exist. */
export const signalAll = (pids: ReadonlyArray<number>, signal: NodeJS.Signals): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error
    }
  }
}

/** Waits until none of the processes runs. */
export const waitForExit = (pids: ReadonlyArray<number>): Promise<void> =>
  eventually(() => {
    const running = listProcesses().filter(({ pid }) => pids.includes(pid))
    if (running.length > 0) throw new Error(`Processes did not exit: ${running.map(({ pid }) => pid).join(", ")}`)
  })
