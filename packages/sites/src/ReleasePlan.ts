/**
 * What an archive will be on the disk, decided from its headers alone. Only files and folders are planned, so that no
 * name in the release ever leads out of it: a link to a file of the same archive becomes a copy of it, and any other
 * link is refused.
 */
import type { Budget } from "./Budget.ts"
import { linkTarget, safePath } from "./entryPath.ts"
import { InvalidArchiveError, quote } from "./limits.ts"
import type { TarEntry } from "./readTar.ts"

export interface PlannedFile {
  readonly path: string
  readonly size: number
  readonly isExecutable: boolean
}

interface Link {
  /** As the archive names it. */
  readonly entry: string
  readonly target: string
}

/** How often a link may point to a link. */
const maxLinkHops = 40

const rejectName = (entry: string): never => {
  throw new InvalidArchiveError(`${quote(entry)} cannot be a file or folder beside the others`)
}

export class ReleasePlan {
  readonly #budget: Budget
  readonly #folders = new Set([""])
  /** Which entry of the archive each file is: the last of its name. */
  readonly #files = new Map<string, { readonly index: number; readonly file: PlannedFile }>()
  readonly #links = new Map<string, Link>()
  #entries = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  add(entry: TarEntry): void {
    const index = this.#entries++
    const path = safePath(entry)
    const target = entry.kind.endsWith("link") ? linkTarget(entry) : undefined
    this.#budget.addEntry(path, entry.path)
    if (entry.kind === "folder") this.#addFolder(path, entry.path, true)
    else this.#addFile(path, target, entry, index)
  }

  #addFile(path: string, target: string | undefined, entry: TarEntry, index: number): void {
    if (this.#folders.has(path)) rejectName(entry.path)
    // tar writes a file that is named twice as a link to itself.
    if (target === path && this.#files.has(path)) return
    this.#files.delete(path)
    this.#links.delete(path)
    this.#addParents(path, entry.path)
    if (target !== undefined) this.#links.set(path, { entry: entry.path, target })
    else {
      const { size, isExecutable } = entry
      this.#budget.addBytes(size, entry.path)
      this.#files.set(path, { index, file: { path, size, isExecutable } })
    }
  }

  #addParents(path: string, entry: string): void {
    const slash = path.lastIndexOf("/")
    if (slash !== -1) this.#addFolder(path.slice(0, slash), entry, false)
  }

  /** Plans a folder and those above it, one by one, so that each is counted. */
  #addFolder(path: string, entry: string, isEntry: boolean): void {
    if (this.#folders.has(path)) return
    const names = path.split("/")
    this.#budget.checkDepth(names.length, entry)
    for (let count = 1; count <= names.length; count++) {
      const folder = names.slice(0, count).join("/")
      if (this.#folders.has(folder)) continue
      if (this.#files.has(folder) || this.#links.has(folder)) rejectName(entry)
      // The entry itself has been counted.
      if (!isEntry || count < names.length) this.#budget.addEntry(folder, entry)
      this.#budget.addBytes(0, entry)
      this.#folders.add(folder)
    }
  }

  /** The folders, each after the one that it is in. */
  folders(): Iterable<string> {
    return this.#folders
  }

  /** The files, by the number of their entry. */
  files(): ReadonlyMap<number, PlannedFile> {
    return new Map([...this.#files.values()].map(({ index, file }) => [index, file]))
  }

  /** The copies that stand for links. */
  copies(): ReadonlyArray<{ readonly from: PlannedFile; readonly to: string }> {
    return [...this.#links].map(([to, link]) => {
      const from = this.#resolve(link)
      this.#budget.addBytes(from.size, link.entry)
      return { from, to }
    })
  }

  #resolve({ entry, target }: Link): PlannedFile {
    let path = target
    for (let hop = 0; hop < maxLinkHops; hop++) path = this.#links.get(path)?.target ?? path
    const found = this.#files.get(path)
    if (found === undefined) throw new InvalidArchiveError(`${quote(entry)} is a link to no file of the archive`)
    return found.file
  }
}
