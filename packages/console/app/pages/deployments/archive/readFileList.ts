import { isJunk } from "./junk.ts"
import { type Folder, type FolderEntry, SourceError } from "./Source.ts"

/** The folder of an input with `webkitdirectory`: its files have paths that begin with the name of the folder. */
export const readFileList = (files: ReadonlyArray<File>): Folder => {
  const entries: Array<FolderEntry> = []
  const skipped = new Set<string>()
  for (const file of files) {
    const names = file.webkitRelativePath.split("/").slice(1)
    const junk = names.find(isJunk)
    if (junk === undefined) entries.push({ path: names.join("/"), file })
    else skipped.add(junk)
  }
  const name = files[0]?.webkitRelativePath.split("/", 1)[0] ?? "folder"
  if (entries.length === 0) throw new SourceError(`${name} has no files to deploy.`)
  return { kind: "folder", name, entries, skipped: [...skipped] }
}
