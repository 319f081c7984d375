/**
 * What one source may cost. Sources are untrusted: every quantity that an archive controls has a limit.
 */

export interface UnpackLimits {
  /** Files, links and folders, including folders that only a path implies: 20,000. Extended headers: twice as many. */
  readonly entries: number
  /** Bytes of all files together; each file and folder counts as whole blocks of 4 KiB, at least one: 500 MiB. */
  readonly bytes: number
  /** Folders inside each other: 32. */
  readonly depth: number
  /** Bytes of all paths together: 2 MiB. */
  readonly pathBytes: number
  /** Bytes of all extended headers (PAX records and GNU long names) together: 8 MiB. */
  readonly headerBytes: number
  /** Time that unpacking a source, or reading a release, may take: 60,000 milliseconds. */
  readonly timeoutMs: number
  /** JavaScript heap of the worker thread that does it: 64 MiB. */
  readonly memoryMb: number
}

const MiB = 1024 * 1024

export const defaultLimits: UnpackLimits = {
  entries: 20_000,
  bytes: 500 * MiB,
  depth: 32,
  pathBytes: 2 * MiB,
  headerBytes: 8 * MiB,
  timeoutMs: 60_000,
  memoryMb: 64
}

/** Unknown or impossible limits would silently be no limits. */
export const resolveLimits = (given: Partial<UnpackLimits> = {}): UnpackLimits => {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaultLimits, name)) throw new TypeError(`limits.${name}: there is no such limit`)
    if (!Number.isSafeInteger(value) || value < 1) throw new TypeError(`limits.${name}: give a positive integer`)
  }
  return { ...defaultLimits, ...given }
}

/** The source or the release is refused; the message is shown to its author. */
export class InvalidArchiveError extends Error {
  override readonly name = "Rejected"
}

export const quote = (name: string): string => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)

const blockSize = 4096

/** What a file or folder costs on the disk. */
export const diskBytes = (size: number): number => Math.max(1, Math.ceil(size / blockSize)) * blockSize
