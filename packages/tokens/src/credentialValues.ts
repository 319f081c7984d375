/**
 * The values of tokens, sessions and links, also of customers: `tgm_<place><32 random characters>_<checksum>`. The place leads to the partition
 * without naming the account; the checksum rejects a mistyped or invented value without a store call.
 */
import { hash } from "node:crypto"
import { addChecksum, Base62, hasChecksum, Partition, type SecretBox } from "@tollgate/core/module"
import { Effect } from "effect"
import type { StoredCredential } from "./Token.ts"

type Kind = StoredCredential["kind"]

const prefixes: Readonly<Record<Kind, string>> = { token: "tgm", session: "tgs", link: "tgl", customer: "tgp" }
const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind as Kind])
)

const randomCharacters = 32
const pattern = /^(tgm|tgs|tgl|tgp)_([0-9a-f]{8})[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/

/** Where the credentials of an account are. Accounts share one if the first digits of their hashes are the same. */
const toPlace = (account: string): string => hash("sha256", account, "hex").slice(0, 8)
const atPlace = (place: string): Partition.Partition => Partition.make(`tokens-${place}`)

/** The partition of the credentials of an account; `*` are those for all accounts. */
export const toPartition = (account: string): Partition.Partition => atPlace(toPlace(account))

/** What a value says of itself; `undefined` if it is none of ours. */
export const parseValue = (value: string): { kind: Kind; partition: Partition.Partition } | undefined => {
  const [, prefix = "", place = ""] = pattern.exec(value) ?? []
  const kind = kinds.get(prefix)
  return kind !== undefined && hasChecksum(value) ? { kind, partition: atPlace(place) } : undefined
}

const toSha256 = (value: string): string => hash("sha256", value, "hex")

/** The unique keys of a value, one for each secret. The text is part of the stored format. */
const hashSha256 = (secretBox: SecretBox["Service"], sha256: string): ReadonlyArray<string> =>
  secretBox.keyHashes(`token sha256:${sha256}`)

export const hashValue = (secretBox: SecretBox["Service"], value: string): ReadonlyArray<string> =>
  hashSha256(secretBox, toSha256(value))

/** Binds a ciphertext to its record. */
const toAssociatedData = (account: string, id: string): string => `${toPartition(account)} ${account} ${id} sha256`

/** Hashes and encrypts what is stored of a value. */
const protect = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  account: string,
  id: string,
  sha256: string
) {
  const encryptedHash = yield* secretBox.encrypt(sha256, toAssociatedData(account, id))
  return { hashes: hashSha256(secretBox, sha256), encryptedHash }
})

/** Generates a value, and what is stored of it. */
export const generateValue = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  kind: Kind,
  account: string,
  id: string
) {
  const value = addChecksum(`${prefixes[kind]}_${toPlace(account)}${yield* Base62.random(randomCharacters)}`)
  return { value, stored: yield* protect(secretBox, account, id, toSha256(value)) }
})

/** What is stored under the primary secret; `undefined` if it already is. Fails if it cannot be decrypted. */
export const renewValue = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  { account, id, hashes, encryptedHash }: StoredCredential
) {
  const sha256 = yield* secretBox.decrypt(encryptedHash, toAssociatedData(account, id))
  const current = hashSha256(secretBox, sha256)
  const isCurrent = hashes.length === current.length && current.every((hash) => hashes.includes(hash))
  if (isCurrent && secretBox.isUnderPrimarySecret(encryptedHash)) return undefined
  return yield* protect(secretBox, account, id, sha256)
})
