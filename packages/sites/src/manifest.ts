/**
 * What a release serves: every file by its path, with its size and its digest. What is not in it is not served, so that
 * no path leads anywhere else. It is one buffer of lines, sorted by path and searched as it is, so that a large one
 * costs neither time to parse nor memory beyond its own bytes.
 */

export interface ServedFile {
  readonly size: number
  /** The SHA-256 of its content. */
  readonly digest: string
}

export interface Manifest {
  /** Where the files are, in the release's folder. */
  readonly root: string
  /** A line for each file: its path as JSON, its size and its digest, with tabs between them. */
  readonly lines: Buffer
}

const [tab, newline] = [0x09, 0x0a]

/** JSON has no tabs or newlines of its own. */
const keyOf = (path: string): Buffer => Buffer.from(JSON.stringify(path))

export const encodeManifest = (
  root: string,
  files: ReadonlyArray<readonly [path: string, file: ServedFile]>
): Buffer => {
  const lines = files
    .map(([path, { size, digest }]) => [keyOf(path), `\t${size}\t${digest}\n`] as const)
    .sort(([left], [right]) => Buffer.compare(left, right))
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(root)}\n`),
    ...lines.flatMap(([key, rest]) => [key, Buffer.from(rest)])
  ])
}

export const decodeManifest = (bytes: Buffer): Manifest => {
  const end = bytes.indexOf(newline)
  return { root: String(JSON.parse(bytes.toString("utf8", 0, end))), lines: bytes.subarray(end + 1) }
}

/** A manifest as releases before 0.2 wrote it: one JSON object. */
export const decodeJsonManifest = (text: string): Manifest => {
  const { root, files } = JSON.parse(text) as { readonly root: string; readonly files: Record<string, ServedFile> }
  return decodeManifest(encodeManifest(root, Object.entries(files)))
}

const keyEnd = ({ lines }: Manifest, start: number): number => lines.indexOf(tab, start)

const lineEnd = ({ lines }: Manifest, start: number): number => lines.indexOf(newline, start)

/** The file at a path, found by binary search over the bytes. */
export const findFile = (manifest: Manifest, path: string): ServedFile | undefined => {
  const { lines } = manifest
  const key = keyOf(path)
  let [low, high] = [0, lines.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = middle === 0 ? 0 : lines.lastIndexOf(newline, middle - 1) + 1
    const end = keyEnd(manifest, start)
    const order = key.compare(lines, start, end)
    if (order === 0) {
      const [size, digest = ""] = lines.toString("latin1", end + 1, lineEnd(manifest, start)).split("\t")
      return { size: Number(size), digest }
    }
    if (order < 0) high = start
    else low = lineEnd(manifest, start) + 1
  }
  return undefined
}

/** What is requested first: the index, or else the first file. */
export const entryFile = (manifest: Manifest): string | undefined => {
  if (findFile(manifest, "index.html") !== undefined) return "index.html"
  if (manifest.lines.length === 0) return undefined
  return String(JSON.parse(manifest.lines.toString("utf8", 0, keyEnd(manifest, 0))))
}
