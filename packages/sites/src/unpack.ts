/**
 * Unpacks a gzipped tar archive that may be hostile, in two passes: the first validates the headers and plans the
 * files, the second writes them. A rejected source never touches the disk. Writes synchronously, since it runs in a
 * worker thread and must not occupy the thread pool of the process (see `ReleaseWorkers.ts`).
 */
import { closeSync, constants, copyFileSync, mkdirSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { Budget } from "./Budget.ts"
import { quote, ReleaseRejectedError, type UnpackLimits } from "./limits.ts"
import { type PlannedFile, ReleasePlan } from "./ReleasePlan.ts"
import { readArchive } from "./readArchive.ts"
import type { TarEntry } from "./readTar.ts"

export interface UnpackResult {
  readonly files: number
  readonly bytes: number
  /** What the files and folders occupy on the disk. */
  readonly diskBytes: number
}

const nameErrors = ["EISDIR", "ENOTDIR", "EEXIST", "ENAMETOOLONG", "ENOENT"]

/** Blames the archive for names that conflict on this file system. Other errors are the server's. */
const mapNameErrors = (path: string, work: () => void): void => {
  try {
    work()
  } catch (error) {
    const isNameError = error instanceof Error && "code" in error && nameErrors.includes(String(error.code))
    throw isNameError ? new ReleaseRejectedError(`${quote(path)} conflicts with another entry`) : error
  }
}

const writeContent = async (file: number, entry: TarEntry): Promise<void> => {
  for await (const chunk of entry.content()) {
    for (let offset = 0; offset < chunk.length; ) offset += writeSync(file, chunk, offset)
  }
}

const writeFile = async (folder: string, { path, isExecutable }: PlannedFile, entry: TarEntry): Promise<void> => {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  let file = -1
  mapNameErrors(path, () => {
    file = openSync(join(folder, path), O_WRONLY | O_CREAT | O_EXCL, isExecutable ? 0o755 : 0o644)
  })
  try {
    await writeContent(file, entry)
  } finally {
    closeSync(file)
  }
}

/**
 * Unpacks into an existing empty folder. Throws `ReleaseRejectedError` if the archive is at fault. `archiveBytes` is the
 * size of the source, if it is known.
 */
export const unpack = async (
  source: AsyncIterable<Uint8Array>,
  folder: string,
  limits: UnpackLimits,
  archiveBytes?: number
): Promise<UnpackResult> => {
  const budget = new Budget(limits, archiveBytes)
  const plan = new ReleasePlan(budget)
  await readArchive(source, budget, limits, async (entry) => plan.add(entry))
  const [files, copies] = [plan.files(), plan.copies()]
  if (files.size === 0) throw new ReleaseRejectedError("The archive contains no files")

  for (const path of plan.folders()) {
    if (path !== "") mapNameErrors(path, () => mkdirSync(join(folder, path)))
  }
  let [index, bytes] = [0, 0]
  await readArchive(source, new Budget(limits), limits, async (entry) => {
    const file = files.get(index++)
    if (file === undefined) return
    if (file.size !== entry.size) throw new Error("The source changed while it was being unpacked")
    await writeFile(folder, file, entry)
    bytes += file.size
  })
  for (const { from, to } of copies) {
    mapNameErrors(to, () => copyFileSync(join(folder, from.path), join(folder, to), constants.COPYFILE_EXCL))
    bytes += from.size
  }
  return { files: files.size + copies.length, bytes, diskBytes: budget.bytes }
}
