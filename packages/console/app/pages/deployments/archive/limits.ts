/** The default limits of a server. A server can have others, so they are a reason to ask, not to refuse. */
import { formatBytes, formatCount } from "@tollgate/ui/format/numbers.ts"
import type { Folder } from "./Source.ts"

const MiB = 1024 * 1024

const maxArchiveBytes = 100 * MiB
const maxFolderBytes = 500 * MiB
const maxEntries = 20_000

export const limitsText = `Servers accept archives of up to 100 MiB, with up to ${formatCount(maxEntries)} files and 500 MiB unpacked, unless they are configured otherwise.`

/** How many sizes are read before the page gets its turn: browsers ask the disk for each. */
const sizesAtOnce = 50

export const getFolderBytes = async ({ entries }: Folder): Promise<number> => {
  let bytes = 0
  for (const [index, { file }] of entries.entries()) {
    bytes += file?.size ?? 0
    if (index % sizesAtOnce === sizesAtOnce - 1) await new Promise((resolve) => setTimeout(resolve))
  }
  return bytes
}

/** Why a folder is probably refused, if it is. */
export const checkFolder = ({ name, entries }: Folder, bytes: number): string | undefined => {
  if (entries.length > maxEntries) {
    return `${name} has ${formatCount(entries.length)} files; servers accept ${formatCount(maxEntries)} unless they are configured otherwise.`
  }
  return bytes > maxFolderBytes
    ? `${name} has ${formatBytes(bytes)} of files; servers accept 500 MiB unless they are configured otherwise.`
    : undefined
}

/** Why an archive is probably refused, if it is. */
export const checkArchive = (name: string, bytes: number): string | undefined =>
  bytes > maxArchiveBytes
    ? `The archive of ${name} has ${formatBytes(bytes)}; servers accept 100 MiB unless they are configured otherwise.`
    : undefined
