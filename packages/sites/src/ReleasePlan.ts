/**
 * Plans the files and folders of a release from the headers of an archive. The plan contains no links, so no path in
 * the release points outside it: a link to a file of the same archive becomes a copy, and other links are rejected.
 */
import type { Budget } from "./Budget.ts"
import { quote, ReleaseRejectedError } from "./limits.ts"
import type { TarEntry } from "./readTar.ts"
import { resolveLinkTarget, validatePath } from "./validatePath.ts"

export interface PlannedFile {
  readonly path: string
  readonly size: number
  readonly isExecutable: boolean
}

interface Link {
  /** The link's path as written in the archive. */
  readonly entry: string
  readonly target: string
}

/** How many links a chain of links may have. */
const maxLinkHops = 40

const rejectConflict = (entry: string): never => {
  throw new ReleaseRejectedError(`${quote(entry)} conflicts with another entry`)
}

export class ReleasePlan {
  readonly #budget: Budget
  readonly #folders = new Set([""])
  /** The files and the index of their entry. If a path occurs more than once, the last entry wins. */
  readonly #files = new Map<string, { readonly index: number; readonly file: PlannedFile }>()
  readonly #links = new Map<string, Link>()
  #entries = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  add(entry: TarEntry): void {
    const index = this.#entries++
    const path = validatePath(entry)
    const target = entry.kind.endsWith("link") ? resolveLinkTarget(entry) : undefined
    this.#budget.addEntry(path, entry.path)
    if (entry.kind === "folder") this.#addFolder(path, entry.path, true)
    else this.#addFile(path, target, entry, index)
  }

  #addFile(path: string, target: string | undefined, entry: TarEntry, index: number): void {
    if (this.#folders.has(path)) rejectConflict(entry.path)
    // tar stores a file that is listed twice as a hard link to itself.
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

  /** Plans a folder and its parents, and counts each of them. */
  #addFolder(path: string, entry: string, isEntry: boolean): void {
    if (this.#folders.has(path)) return
    const names = path.split("/")
    this.#budget.checkDepth(names.length, entry)
    for (let count = 1; count <= names.length; count++) {
      const folder = names.slice(0, count).join("/")
      if (this.#folders.has(folder)) continue
      if (this.#files.has(folder) || this.#links.has(folder)) rejectConflict(entry)
      // `add` has already counted the entry itself.
      if (!isEntry || count < names.length) this.#budget.addEntry(folder, entry)
      this.#budget.addBytes(0, entry)
      this.#folders.add(folder)
    }
  }

  /** The folders. Parents come before their children. */
  folders(): Iterable<string> {
    return this.#folders
  }

  /** The files, by the index of their entry. */
  files(): ReadonlyMap<number, PlannedFile> {
    return new Map([...this.#files.values()].map(({ index, file }) => [index, file]))
  }

  /** The copies that replace links. */
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
    const planned = this.#files.get(path)
    if (planned === undefined)
      throw new ReleaseRejectedError(`${quote(entry)} is a link that does not resolve to a file in the archive`)
    return planned.file
  }
}
