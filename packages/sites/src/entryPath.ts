/**
 * Where an entry of an archive goes, by names alone.
 */
import { posix } from "node:path"
import { InvalidArchiveError, quote } from "./limits.ts"
import type { TarEntry } from "./readTar.ts"

const maxPathLength = 1024
/** What file systems take for one name. */
const maxNameBytes = 255

/** The entry's path below the folder; empty for the folder itself. */
export const safePath = ({ path }: Pick<TarEntry, "path">): string => {
  if (path === "") throw new InvalidArchiveError(`${quote(path)} is no name`)
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path))
    throw new InvalidArchiveError(`${quote(path)} is an absolute path`)
  if (path.includes("\\")) throw new InvalidArchiveError(`${quote(path)} has a backslash in its name`)
  if (/\p{Cc}/u.test(path)) throw new InvalidArchiveError(`${quote(path)} has a control character in its name`)
  if (path.length > maxPathLength) throw new InvalidArchiveError(`${quote(path)} has too long a name`)
  const names = path.split("/")
  if (names.includes("..")) throw new InvalidArchiveError(`${quote(path)} leads outside`)
  if (names.some((name) => Buffer.byteLength(name) > maxNameBytes)) {
    throw new InvalidArchiveError(`${quote(path)} has a name of more than ${maxNameBytes} bytes`)
  }
  const normal = posix.normalize(path)
  const end = normal.endsWith("/") ? normal.length - 1 : normal.length
  return normal === "." || normal === "./" ? "" : normal.slice(0, end)
}

/** The path that a link points to: a symbolic link from its own folder, a hard link from the top. */
export const linkTarget = (entry: Pick<TarEntry, "kind" | "path" | "linkPath">): string => {
  const { path, linkPath, kind } = entry
  const from = kind === "hard link" ? "" : posix.dirname(safePath(entry))
  const target = posix.normalize(posix.join(from, linkPath))
  if (posix.isAbsolute(linkPath) || target.split("/", 1)[0] === "..") {
    throw new InvalidArchiveError(`${quote(path)} is a link that leads outside, to ${quote(linkPath)}`)
  }
  return target
}
