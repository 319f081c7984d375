/**
 * The form of a name in the tables: the name itself or, if PostgreSQL cannot index or store that, its digest. An entry of
 * a B-tree index has at most 2,704 bytes, and a text has no NUL and no lone surrogates.
 */
import { hash } from "node:crypto"

/** A UTF-16 code unit has at most three bytes in UTF-8. */
const maxLength = 600

/** Marks a digest. A name that begins with it is replaced too, so that no name equals the digest of another. */
const digestMark = "\u0001"

export const isDigest = (name: string): boolean => name.startsWith(digestMark)

export const toIndexName = (name: string): string =>
  name.length <= maxLength && !isDigest(name) && !name.includes("\0") && name.isWellFormed()
    ? name
    : digestMark + hash("sha256", Buffer.from(name, "utf16le"), "hex")

/** The form of a name in the tables, and the name as JSON if that is another one: the name may contain a NUL. */
export const encodeName = (name: string): { readonly indexName: string; readonly originalName: string | null } => {
  const indexName = toIndexName(name)
  return { indexName, originalName: isDigest(indexName) ? JSON.stringify(name) : null }
}
