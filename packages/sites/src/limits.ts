/**
 * The limits of one source. Sources are untrusted, so every quantity that an archive controls has a limit.
 */

export interface UnpackLimits {
  /**
   * The number of files, links and folders, including implied parent folders. Twice as many extended headers are
   * allowed. Default: 20,000.
   */
  readonly entries: number
  /** The total size of all files. Each file and folder counts in blocks of 4 KiB, at least one. Default: 500 MiB. */
  readonly bytes: number
  /** How many times as large as its archive the contents of all files may be, above 10 MiB. Default: 100. */
  readonly unpackRatio: number
  /** The depth of nested folders. Default: 32. */
  readonly depth: number
  /** The total size of all paths. Default: 2 MiB. */
  readonly pathBytes: number
  /** The total size of all extended headers (PAX records and GNU long names). Default: 8 MiB. */
  readonly headerBytes: number
  /** The timeout of unpacking a source, and of reading a release, in milliseconds. Default: 60,000. */
  readonly timeoutMs: number
  /** The maximum JavaScript heap of the worker thread, in MiB. Default: 64. */
  readonly memoryMb: number
}

const MiB = 1024 * 1024

export const defaultLimits: UnpackLimits = {
  entries: 20_000,
  bytes: 500 * MiB,
  unpackRatio: 100,
  depth: 32,
  pathBytes: 2 * MiB,
  headerBytes: 8 * MiB,
  timeoutMs: 60_000,
  memoryMb: 64
}

/** The source or the release is rejected. The message is shown in the deployment status. */
export class ReleaseRejectedError extends Error {
  override readonly name = "ReleaseRejectedError"
}

export const quote = (name: string): string => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)

/** The ratio does not apply to small sources, which may compress well. */
const minBytesOfRatio = 10 * MiB

/** What the contents of all files in an archive of this size may have. */
export const maxContentBytes = ({ unpackRatio }: UnpackLimits, archiveBytes: number): number =>
  Math.max(minBytesOfRatio, unpackRatio * archiveBytes)

const blockSize = 4096

/** The size of a file or folder on the disk. */
export const diskBytes = (size: number): number => Math.max(1, Math.ceil(size / blockSize)) * blockSize
