import { fork } from "node:child_process"
import { once } from "node:events"
import { getNodeOptions } from "@tollgate/testing"
import { expect, onTestFinished } from "vitest"
import type { Work } from "./killedAtCommit.worker.ts"
import type { SharedStore } from "./sharedStores.ts"

export const killMoments = ["before", "after"] as const

export type Kill = Work & {
  readonly shared: SharedStore
  readonly secret: string
  /** The process kills itself before or after this commit of its work, counted from 1. */
  readonly commit: number
  readonly moment: (typeof killMoments)[number]
}

/** Runs a piece of work in a process of its own. Whether it was killed before its work had ended. */
export const killAtCommit = async (kill: Kill): Promise<boolean> => {
  const child = fork(new URL("./killedAtCommit.worker.ts", import.meta.url), { execArgv: [...getNodeOptions()] })
  onTestFinished(() => {
    child.kill("SIGKILL")
  })
  let isDone = false
  child.on("message", () => {
    isDone = true
    child.kill("SIGKILL")
  })
  child.send(kill)
  const [, signal] = await once(child, "exit")
  expect(signal, "the process failed").toBe("SIGKILL")
  return !isDone
}
