/** The default limits of a server. A server can have others, so they are a reason to ask, not to refuse. */
import { formatBytes, formatCount } from "../../../format/numbers.ts"
import type { Folder } from "./Source.ts"

const MiB = 1024 * 1024

const maxArchiveBytes = 100 * MiB
const maxFolderBytes = 500 * MiB
const maxEntries = 20_000

export const limitsText = `Servers accept archives of up to 100 MiB, with up to ${formatCount(maxEntries)} files and 500 MiB unpacked, unless they are configured otherwise.`

export const getFolderBytes = ({ entries }: Folder): number =>
  entries.reduce((sum, { file }) => sum + (file?.size ?? 0), 0)

/** Why a folder is probably refused, if it is. */
export const checkFolder = (folder: Folder): string | undefined => {
  if (folder.entries.length > maxEntries) {
    return `${folder.name} has ${formatCount(folder.entries.length)} files; servers accept ${formatCount(maxEntries)} unless they are configured otherwise.`
  }
  const bytes = getFolderBytes(folder)
  return bytes > maxFolderBytes
    ? `${folder.name} has ${formatBytes(bytes)} of files; servers accept 500 MiB unless they are configured otherwise.`
    : undefined
}

/** Why an archive is probably refused, if it is. */
export const checkArchive = (name: string, bytes: number): string | undefined =>
  bytes > maxArchiveBytes
    ? `The archive of ${name} has ${formatBytes(bytes)}; servers accept 100 MiB unless they are configured otherwise.`
    : undefined
