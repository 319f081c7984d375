/**
 * Unpacks a gzip tar that may be hostile, in two passes: the first refuses it or plans what is written, and the second
 * writes. A source that is refused never touches the disk. Runs in a worker thread, hence with synchronous writes,
 * which do not fill the thread pool of the process: see `ReleaseWorkers.ts`.
 */
import { closeSync, constants, copyFileSync, mkdirSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { Budget } from "./Budget.ts"
import { InvalidArchiveError, quote, type UnpackLimits } from "./limits.ts"
import { type PlannedFile, ReleasePlan } from "./ReleasePlan.ts"
import { readArchive } from "./readArchive.ts"
import type { TarEntry } from "./readTar.ts"

export interface Unpacked {
  readonly files: number
  readonly bytes: number
}

const nameErrors = ["EISDIR", "ENOTDIR", "EEXIST", "ENAMETOOLONG", "ENOENT"]

/** Names that this file system cannot hold beside each other are the archive's fault; other errors are the server's. */
const write = (path: string, work: () => void): void => {
  try {
    work()
  } catch (error) {
    const isName = error instanceof Error && "code" in error && nameErrors.includes(String(error.code))
    throw isName ? new InvalidArchiveError(`${quote(path)} cannot be a file or folder beside the others`) : error
  }
}

const writeContent = async (file: number, entry: TarEntry): Promise<void> => {
  for await (const chunk of entry.content()) {
    for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
  }
}

const writeFile = async (folder: string, { path, isExecutable }: PlannedFile, entry: TarEntry): Promise<void> => {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  let file = -1
  write(path, () => {
    file = openSync(join(folder, path), O_WRONLY | O_CREAT | O_EXCL, isExecutable ? 0o755 : 0o644)
  })
  try {
    await writeContent(file, entry)
  } finally {
    closeSync(file)
  }
}

/** Unpacks into a folder that exists and is empty. Fails with Rejected where the archive is at fault. */
export const unpack = async (
  source: AsyncIterable<Uint8Array>,
  folder: string,
  limits: UnpackLimits
): Promise<Unpacked> => {
  const budget = new Budget(limits)
  const plan = new ReleasePlan(budget)
  await readArchive(source, budget, limits, async (entry) => plan.add(entry))
  const [files, copies] = [plan.files(), plan.copies()]
  if (files.size === 0) throw new InvalidArchiveError("there is no file in it")

  for (const path of plan.folders()) {
    if (path !== "") write(path, () => mkdirSync(join(folder, path)))
  }
  let [index, bytes] = [0, 0]
  await readArchive(source, new Budget(limits), limits, async (entry) => {
    const file = files.get(index++)
    if (file === undefined) return
    if (file.size !== entry.size) throw new Error("The source changed while it was unpacked")
    await writeFile(folder, file, entry)
    bytes += file.size
  })
  for (const { from, to } of copies) {
    write(to, () => copyFileSync(join(folder, from.path), join(folder, to), constants.COPYFILE_EXCL))
    bytes += from.size
  }
  return { files: files.size + copies.length, bytes }
}
