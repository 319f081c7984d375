/**
 * Random secrets that are created at the first start and kept in the data folder. Only the file's owner can read them.
 */
import { randomBytes } from "node:crypto"
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface PersistentSecret {
  readonly value: string
  readonly isNew: boolean
}

/** Reads the secret, or creates it. If two servers start concurrently, one creates it and both use it. */
export const loadOrCreateSecret = (folder: string, name: string): PersistentSecret => {
  const path = join(folder, name)
  mkdirSync(folder, { recursive: true })
  const value = randomBytes(24).toString("base64url") + randomBytes(8).toString("hex")
  // Written to a draft and linked atomically: another server never reads a partial file.
  const draft = `${path}.${randomBytes(6).toString("hex")}`
  writeFileSync(draft, `${value}\n`, { mode: 0o600, flag: "wx" })
  try {
    linkSync(draft, path)
    return { value, isNew: true }
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error
    return { value: readFileSync(path, "utf8").trim(), isNew: false }
  } finally {
    unlinkSync(draft)
  }
}
