import { statfsSync } from "node:fs"

/** How often the disk is looked at, in milliseconds. */
const interval = 1_000

export const defaultReserveMebibytes = 256

/** Says whether the disk of a path has less free space than a reserve. Without a reserve it never has. */
export const makeDiskCheck = (path: string, reserveMebibytes = defaultReserveMebibytes): (() => boolean) => {
  const reserve = reserveMebibytes * 1024 * 1024
  let lookedAt = Number.NEGATIVE_INFINITY
  let isLow = false
  return () => {
    const now = performance.now()
    if (now - lookedAt < interval) return isLow
    lookedAt = now
    try {
      const { bavail, bsize } = statfsSync(path)
      isLow = bavail * bsize < reserve
    } catch {
      // The folder does not exist yet, or the system cannot tell.
      isLow = false
    }
    return isLow
  }
}
