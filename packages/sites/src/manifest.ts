/**
 * The manifest of a release: the path, size and digest of each file that it serves. Files that are not in the manifest
 * are not served, so a path cannot escape the release folder. The manifest is one buffer of sorted lines, searched in
 * place, so that a large one needs neither parsing nor additional memory.
 */

export interface ServedFile {
  readonly size: number
  /** The SHA-256 of the content, in base64url. */
  readonly digest: string
}

export interface Manifest {
  /** One line per file: the path as JSON, the size and the digest, separated by tabs. */
  readonly lines: Buffer
}

const [tab, newline] = [0x09, 0x0a]

/** Encodes a path as JSON, which escapes tabs and newlines. */
const encodeKey = (path: string): Buffer => Buffer.from(JSON.stringify(path))

export const encodeManifest = (files: ReadonlyArray<readonly [path: string, file: ServedFile]>): Buffer => {
  const lines = files
    .map(([path, { size, digest }]) => [encodeKey(path), `\t${size}\t${digest}\n`] as const)
    .sort(([left], [right]) => Buffer.compare(left, right))
  return Buffer.concat(lines.flatMap(([key, rest]) => [key, Buffer.from(rest)]))
}

export const decodeManifest = (lines: Buffer): Manifest => ({ lines })

const findKeyEnd = ({ lines }: Manifest, start: number): number => lines.indexOf(tab, start)

const findLineEnd = ({ lines }: Manifest, start: number): number => lines.indexOf(newline, start)

const parseFile = (lines: Buffer, start: number, end: number): ServedFile => {
  const [size, digest = ""] = lines.toString("latin1", start, end).split("\t")
  return { size: Number(size), digest }
}

/** The files, also those with the same content, in the order of their paths. */
export function* listServedFiles(manifest: Manifest): Generator<ServedFile> {
  for (let start = 0; start < manifest.lines.length; ) {
    const end = findLineEnd(manifest, start)
    yield parseFile(manifest.lines, findKeyEnd(manifest, start) + 1, end)
    start = end + 1
  }
}

/** Finds the file at a path by binary search over the bytes. */
export const findFile = (manifest: Manifest, path: string): ServedFile | undefined => {
  const { lines } = manifest
  const key = encodeKey(path)
  let [low, high] = [0, lines.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = middle === 0 ? 0 : lines.lastIndexOf(newline, middle - 1) + 1
    const end = findKeyEnd(manifest, start)
    const order = key.compare(lines, start, end)
    if (order === 0) {
      return parseFile(lines, end + 1, findLineEnd(manifest, start))
    }
    if (order < 0) high = start
    else low = findLineEnd(manifest, start) + 1
  }
  return undefined
}

/** The path of `index.html`, or else of the first file. */
export const findEntryFile = (manifest: Manifest): string | undefined => {
  if (findFile(manifest, "index.html") !== undefined) return "index.html"
  if (manifest.lines.length === 0) return undefined
  return String(JSON.parse(manifest.lines.toString("utf8", 0, findKeyEnd(manifest, 0))))
}
