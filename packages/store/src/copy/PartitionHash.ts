/**
 * A hash of everything in a partition. Equal contents have equal hashes in all stores: records and their versions in the
 * order of creation, the sequence number, and counters and replays in any order.
 */
import { createHash, hash } from "node:crypto"
import type { StoreEntry } from "../store/StoreEntry.ts"

const modulus = 2n ** 256n

const encodeEntry = (entry: StoreEntry): string => {
  switch (entry._tag) {
    case "Sequence":
      return JSON.stringify(["sequence", entry.value])
    case "Record": {
      const { key, version, body, indexTerms, uniqueKeys, searchTerms = [], parent = null } = entry.record
      return JSON.stringify(["record", key, version, indexTerms, uniqueKeys, searchTerms, parent, body])
    }
    case "Counter":
      return JSON.stringify(["counter", entry.name, entry.value, entry.expiresAt])
    case "Replay": {
      const { id, fingerprint, result, versions, totals, expiresAt } = entry
      return JSON.stringify(["replay", id, fingerprint, result, versions, totals, expiresAt])
    }
  }
}

export class PartitionHash {
  readonly #ordered = createHash("sha256")
  /** A sum does not depend on the order. */
  #unordered = 0n
  #isEmpty = true

  add(entry: StoreEntry): void {
    this.#isEmpty = false
    const encoded = encodeEntry(entry)
    if (entry._tag === "Sequence" || entry._tag === "Record") this.#ordered.update(`${encoded}\n`)
    else this.#unordered = (this.#unordered + BigInt(`0x${hash("sha256", encoded)}`)) % modulus
  }

  /** `undefined` if there were no entries: a partition without entries is the same as none. */
  digest(): string | undefined {
    return this.#isEmpty ? undefined : `${this.#ordered.digest("hex")}-${this.#unordered.toString(16)}`
  }
}
