/**
 * What is made at the first start and kept in the data folder, for its owner's eyes alone.
 */
import { randomBytes } from "node:crypto"
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface PersistentSecret {
  readonly value: string
  readonly isNew: boolean
}

/** Reads what was made before, or makes it now; of two servers that start at once, one makes it. */
export const loadOrCreateSecret = (folder: string, name: string): PersistentSecret => {
  const path = join(folder, name)
  mkdirSync(folder, { recursive: true })
  const value = randomBytes(24).toString("base64url") + randomBytes(8).toString("hex")
  // It appears under its name whole or not at all: another server may be reading it already.
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
