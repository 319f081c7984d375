/** What is chosen or dropped to be deployed: a folder, which is packed in the browser, or an archive, which is sent as it is. */

/** A file, or a folder that has no files. */
export interface FolderEntry {
  /** Below the top folder, with "/" between the names. */
  readonly path: string
  readonly file: File | undefined
}

export interface Folder {
  readonly kind: "folder"
  readonly name: string
  readonly entries: ReadonlyArray<FolderEntry>
  /** The names of what was left out, such as "node_modules". */
  readonly skipped: ReadonlyArray<string>
}

export interface Archive {
  readonly kind: "archive"
  readonly name: string
  readonly file: File
}

export type Source = Folder | Archive

/** What was chosen cannot be deployed. The message says what to do. */
export class SourceError extends Error {}

export const isArchiveName = (name: string): boolean => /\.(tar\.gz|tgz)$/i.test(name)

/** Makes the source of a single file: an archive is sent as it is, other files are packed. */
export const toSource = (file: File): Source => {
  if (isArchiveName(file.name)) return { kind: "archive", name: file.name, file }
  if (/\.(zip|tar|rar|7z|bz2|xz|gz)$/i.test(file.name)) {
    throw new SourceError(
      `The server unpacks .tar.gz archives only. Unpack ${file.name} and choose the folder instead.`
    )
  }
  return { kind: "folder", name: file.name, entries: [{ path: file.name, file }], skipped: [] }
}
