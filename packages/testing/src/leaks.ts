/**
 * Measures resources that this process may leak: heap memory and open files.
 */
import { readdirSync, readlinkSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Runs the garbage collector and returns the bytes that remain on the heap. */
export const measureHeapAfterGc = (): number => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

/** The files below a folder that this process has open. */
export const listOpenFiles = (folder: string): ReadonlyArray<string> =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      // This descriptor belonged to `readdirSync` and is closed now.
      return []
    }
  })
