/**
 * Validates the paths of archive entries, without looking at the disk.
 */
import { posix } from "node:path"
import { quote, ReleaseRejectedError } from "./limits.ts"
import type { TarEntry } from "./readTar.ts"

const maxPathLength = 1024
/** The maximum on common file systems. */
const maxNameBytes = 255

/** Returns the entry's normalized path below the release folder. Empty for the folder itself. */
export const validatePath = ({ path }: Pick<TarEntry, "path">): string => {
  if (path === "") throw new ReleaseRejectedError(`${quote(path)} is not a valid name`)
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path))
    throw new ReleaseRejectedError(`${quote(path)} is an absolute path`)
  if (path.includes("\\")) throw new ReleaseRejectedError(`${quote(path)} has a backslash in its name`)
  if (/\p{Cc}/u.test(path)) throw new ReleaseRejectedError(`${quote(path)} has a control character in its name`)
  if (path.length > maxPathLength)
    throw new ReleaseRejectedError(`${quote(path)} is longer than ${maxPathLength} characters`)
  const names = path.split("/")
  if (names.includes("..")) throw new ReleaseRejectedError(`${quote(path)} points outside the archive`)
  if (names.some((name) => Buffer.byteLength(name) > maxNameBytes)) {
    throw new ReleaseRejectedError(`${quote(path)} has a name longer than ${maxNameBytes} bytes`)
  }
  const normalized = posix.normalize(path)
  const end = normalized.endsWith("/") ? normalized.length - 1 : normalized.length
  return normalized === "." || normalized === "./" ? "" : normalized.slice(0, end)
}

/** Resolves the path of a link: relative to the link's folder if symbolic, to the top folder if hard. */
export const resolveLinkTarget = (entry: Pick<TarEntry, "kind" | "path" | "linkPath">): string => {
  const { path, linkPath, kind } = entry
  const from = kind === "hard link" ? "" : posix.dirname(validatePath(entry))
  const target = posix.normalize(posix.join(from, linkPath))
  if (posix.isAbsolute(linkPath) || target.split("/", 1)[0] === "..") {
    throw new ReleaseRejectedError(`${quote(path)} is a link that points outside the archive, to ${quote(linkPath)}`)
  }
  return target
}
