/** The keys to import, one per line: the hash, then the last characters of the value and a description if known. */

interface ImportedKey {
  readonly hash: string
  readonly algorithm: "sha256"
  readonly suffix?: string
  readonly description?: string
}

interface ParsedImport {
  readonly keys: ReadonlyArray<ImportedKey>
  readonly error: string | undefined
}

const maxKeys = 1_000

export const parseImport = (text: string): ParsedImport => {
  const keys: Array<ImportedKey> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const [hash = "", suffix = "", ...words] = line.trim().split(/[\s,;]+/)
    const fail = (error: string): ParsedImport => ({ keys: [], error: `Line ${index + 1}: ${error}` })
    if (!/^[0-9a-f]{64}$/i.test(hash)) return fail(`“${hash.slice(0, 80)}” is not a SHA-256 of 64 hexadecimal digits.`)
    if (!/^[\x21-\x7e]{0,8}$/.test(suffix)) return fail(`“${suffix}” has more than 8 characters.`)
    keys.push({
      hash: hash.toLowerCase(),
      algorithm: "sha256",
      ...(suffix === "" ? {} : { suffix }),
      ...(words.length === 0 ? {} : { description: words.join(" ") })
    })
  }
  if (keys.length === 0) return { keys, error: "Paste at least one hash." }
  if (keys.length > maxKeys) return { keys, error: `These are ${keys.length} keys; import at most ${maxKeys} at once.` }
  return { keys, error: undefined }
}
