/**
 * What a process holds on to, looked at from inside it: its heap, and its open files.
 */
import { readdirSync, readlinkSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Bytes on the heap that something still refers to. */
export const heapAfterCollection = (): number => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

/** The files below a folder that this process has open. */
export const openFilesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      // It was the one that the list was read by.
      return []
    }
  })
