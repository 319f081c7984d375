/** Reads what was dropped: one archive, or folders and files with everything in them. */
import { isJunk } from "./junk.ts"
import { type FolderEntry, type Source, SourceError, toSource } from "./Source.ts"

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile

const readFile = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject))

/** Browsers give the entries of a folder in batches; an empty batch is the end. */
const readFolder = async (folder: FileSystemDirectoryEntry): Promise<ReadonlyArray<FileSystemEntry>> => {
  const reader = folder.createReader()
  const entries: Array<FileSystemEntry> = []
  for (;;) {
    const batch = await new Promise<ReadonlyArray<FileSystemEntry>>((resolve, reject) =>
      reader.readEntries(resolve, reject)
    )
    if (batch.length === 0) return entries
    entries.push(...batch)
  }
}

/** The entries of the items. Call it in the event itself: the browser empties the items afterwards. */
export const getDroppedEntries = (items: DataTransferItemList): ReadonlyArray<FileSystemEntry> =>
  [...items].flatMap((item) => item.webkitGetAsEntry() ?? [])

const readAll = async (
  roots: ReadonlyArray<FileSystemEntry>
): Promise<{ readonly entries: ReadonlyArray<FolderEntry>; readonly skipped: ReadonlyArray<string> }> => {
  const entries: Array<FolderEntry> = []
  const skipped = new Set<string>()
  const pending = roots.map((entry) => ({ entry, parent: "" }))
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { entry, parent } = next
    const path = `${parent}${entry.name}`
    if (isJunk(entry.name)) skipped.add(entry.name)
    else if (isFile(entry)) entries.push({ path, file: await readFile(entry) })
    else if (isFolder(entry)) {
      const children = await readFolder(entry)
      if (children.length === 0) entries.push({ path, file: undefined })
      for (const child of children) pending.push({ entry: child, parent: `${path}/` })
    }
  }
  return { entries, skipped: [...skipped] }
}

export const readDrop = async (dropped: ReadonlyArray<FileSystemEntry>): Promise<Source> => {
  const [first] = dropped
  if (first === undefined) throw new SourceError("Drop a folder or a .tar.gz archive.")
  if (dropped.length === 1 && isFile(first)) return toSource(await readFile(first))
  // The files of a single folder are at the top of the site, not below the name of the folder.
  const roots = dropped.length === 1 && isFolder(first) ? await readFolder(first) : dropped
  const name = dropped.length === 1 ? first.name : `${dropped.length} items`
  const { entries, skipped } = await readAll(roots)
  if (entries.every(({ file }) => file === undefined)) throw new SourceError(`${name} has no files to deploy.`)
  return { kind: "folder", name, entries, skipped }
}
