/**
 * The hashes by which a key is found. They are unique in a key bucket, one for each secret.
 *
 * A key is found by the keyed hash of its value. Of an imported key Tollgate knows only the SHA-256 of its value, so it is
 * found by the keyed hash of that. A value that is known has both forms, so that it cannot be imported as well.
 */
import { hash } from "node:crypto"
import type { SecretBox } from "@tollgate/store/internal"

const importedPrefix = "sha256:"

/**
 * The hashes of an imported key. Their prefix keeps them apart from those of values: otherwise the text `sha256:<hash>`,
 * sent as a key, would pass as the key itself. The texts are part of the stored format.
 */
export const hashImportedKey = (secretBox: SecretBox["Service"], sha256: string): ReadonlyArray<string> =>
  secretBox.keyHashes(importedPrefix + sha256).map((hash) => importedPrefix + hash)

/** The hashes of a value in the form of an imported key. */
export const hashAsImportedKey = (secretBox: SecretBox["Service"], value: string): ReadonlyArray<string> =>
  hashImportedKey(secretBox, hash("sha256", value, "hex"))

/** All hashes of a value. */
export const hashKeyValue = (secretBox: SecretBox["Service"], value: string): ReadonlyArray<string> => [
  ...secretBox.keyHashes(value),
  ...hashAsImportedKey(secretBox, value)
]
