/**
 * Keeps key values: a keyed hash to look them up by, and the value sealed so that it can be shown again. Both are
 * under secrets of the host. The first secret seals and hashes; all are tried to open and to look up, so that a
 * secret can be replaced while the service runs.
 */
import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import * as KeyFormat from "./KeyFormat.ts"
import { SecureRandom } from "./SecureRandom.ts"

/** A sealed value that does not open: it was changed, belongs to another record, or its secret is not configured. */
export class KeyDecryptionError extends Schema.TaggedError<KeyDecryptionError>()("KeyDecryptionError", {
  problem: Schema.String
}) {
  override get message(): string {
    return `A sealed value cannot be opened: ${this.problem}`
  }
}

export type KeyStorage = "encrypted" | "hash-only"

export interface SecretBoxOptions {
  /** Newest first, each of at least 32 characters. */
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  /** `sealed` keeps values so that they can be shown again; `hashed` keeps none. */
  readonly storage?: KeyStorage | undefined
  readonly prefix?: string | undefined
}

const shortestSecret = 32

/** A text that has stood in documentation. */
const isPublished = (secret: string): boolean => /^at least 32 characters/i.test(secret)

/** Bytes that SHA-256 takes at once, and those that it gives. */
const hashBlock = 64
const digestBytes = 32
/** Characters of the longest key: anything longer is none, and may take its time. */
const maxFastLength = 256
const nonceBytes = 12
const tagBytes = 16

interface Secret {
  /** Names the secret in a seal, without telling anything of it. */
  readonly id: string
  readonly hashKey: Uint8Array
  /** What the two digests of an HMAC begin with, and room for what follows. */
  readonly hmacInner: Buffer
  readonly hmacOuter: Buffer
  readonly encryptionKey: Uint8Array
  readonly signKey: Uint8Array
  readonly identityKey: Uint8Array
  readonly nameKey: Uint8Array
}

const deriveKeys = (secret: string): Secret => {
  const key = (purpose: string, bytes: number) =>
    Buffer.from(hkdfSync("sha256", secret, "tollgate", `tollgate/v1/${purpose}`, bytes))
  const hashKey = key("hash", 32)
  const padded = (pad: number, room: number) => {
    const padding = Buffer.concat([hashKey], hashBlock).map((byte) => byte ^ pad)
    return Buffer.concat([padding], hashBlock + room)
  }
  return {
    id: key("id", 6).toString("base64url"),
    hashKey,
    hmacInner: padded(0x36, 3 * maxFastLength),
    hmacOuter: padded(0x5c, digestBytes),
    encryptionKey: key("seal", 32),
    signKey: key("sign", 32),
    identityKey: key("identity", 32),
    nameKey: key("deployment-name", 32)
  }
}

/**
 * HMAC-SHA-256 by its definition, from two one-shot digests that allocate nothing: half the time that `createHmac`
 * takes. The digest in between is text of one byte a character, since making a buffer of it costs more than the digest.
 */
const hashWith = ({ hashKey, hmacInner: inner, hmacOuter: outer }: Secret, value: string): string => {
  if (value.length > maxFastLength) return createHmac("sha256", hashKey).update(value).digest("base64url")
  const length = inner.write(value, hashBlock)
  outer.write(hash("sha256", inner.subarray(0, hashBlock + length), "binary"), hashBlock, "binary")
  inner.fill(0, hashBlock, hashBlock + length)
  return hash("sha256", outer, "base64url")
}

const encryptWith = (
  { id, encryptionKey: sealKey }: Secret,
  value: string,
  identity: string,
  nonce: Uint8Array
): string => {
  const cipher = createCipheriv("aes-256-gcm", sealKey, nonce, { authTagLength: tagBytes })
  cipher.setAAD(Buffer.from(identity))
  const sealed = Buffer.concat([nonce, cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()])
  return `1.${id}.${sealed.toString("base64url")}`
}

const decryptWith = ({ encryptionKey: sealKey }: Secret, sealed: Buffer, identity: string): string => {
  const decipher = createDecipheriv("aes-256-gcm", sealKey, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(identity))
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  return decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8")
}

const signWith = ({ signKey }: Secret, text: string): string => createHmac("sha256", signKey).update(text).digest("hex")

const constantTimeEquals = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

const make = Effect.fnUntraced(function* (options: SecretBoxOptions) {
  const { storage = "encrypted", prefix = "tg" } = options
  const wrong = (option: string, problem: string) => new ConfigurationError({ option, problem })
  if (!Schema.is(KeyFormat.KeyPrefix)(prefix)) {
    return yield* wrong("keyPrefix", "give 2 to 16 lower-case letters and digits, the first a letter")
  }
  if (storage !== "encrypted" && storage !== "hash-only") {
    return yield* wrong("keyStorage", 'give "encrypted" or "hash-only"')
  }
  const [newest, ...older] = options.secrets.map(Redacted.value)
  if (newest === undefined) {
    return yield* wrong(
      "secret",
      `set one of at least ${shortestSecret} characters; keys are hashed and sealed with it`
    )
  }
  const short = [newest, ...older].findIndex((secret) => secret.length < shortestSecret)
  if (short >= 0) {
    return yield* wrong("secret", `number ${short + 1} has fewer than ${shortestSecret} characters; make it longer`)
  }
  if (new Set([newest, ...older]).size <= older.length) return yield* wrong("secret", "give each one once")
  if ([newest, ...older].some(isPublished)) {
    return yield* wrong(
      "secret",
      "it stands in the documentation; make a random one, such as `openssl rand -base64 32` prints"
    )
  }
  const current = deriveKeys(newest)
  const secrets = [current, ...older.map(deriveKeys)]
  const format = KeyFormat.make(prefix)

  return SecretBox.of({
    storage,
    secretIds: secrets.map(({ id }) => id),
    generate: format.generate,
    isWellFormed: format.isWellFormed,
    hashes: (value) => secrets.map((secret) => hashWith(secret, value)),
    encrypt: (value, identity) =>
      Effect.map(SecureRandom, ({ bytes }) => encryptWith(current, value, identity, bytes(nonceBytes))),
    digests: (text) =>
      secrets.map(({ identityKey }) => createHmac("sha256", identityKey).update(text).digest("base64url")),
    sign: (text) => signWith(current, text),
    verifySignature: (text, signature) =>
      /^[0-9a-f]{64}$/.test(signature) &&
      secrets.some((secret) => constantTimeEquals(signWith(secret, text), signature)),
    hashName: (text) => createHmac("sha256", current.nameKey).update(text).digest(),
    isUnderCurrentSecret: (sealed) => sealed.startsWith(`1.${current.id}.`),
    decrypt: (sealed, identity) =>
      Effect.suspend(() => {
        const [version, id, content = ""] = sealed.split(".")
        const secret = secrets.find((secret) => secret.id === id)
        if (version !== "1" || secret === undefined) {
          return Effect.fail(new KeyDecryptionError({ problem: "none of the configured secrets sealed it" }))
        }
        try {
          return Effect.succeed(decryptWith(secret, Buffer.from(content, "base64url"), identity))
        } catch {
          return Effect.fail(new KeyDecryptionError({ problem: "it was changed, or belongs to another record" }))
        }
      })
  })
})

export class SecretBox extends Context.Service<
  SecretBox,
  {
    readonly storage: KeyStorage
    /** Names of the secrets, newest first, which tell nothing of them. */
    readonly secretIds: ReadonlyArray<string>
    /** A new key value. */
    readonly generate: Effect.Effect<string>
    readonly isWellFormed: (value: string) => boolean
    /** What a value is looked up by: a hash under each secret, that of the newest first. */
    readonly hashes: (value: string) => ReadonlyArray<string>
    /** Seals a value to the identity of its record: it opens there and nowhere else. */
    readonly encrypt: (value: string, identity: string) => Effect.Effect<string>
    readonly decrypt: (sealed: string, identity: string) => Effect.Effect<string, KeyDecryptionError>
    /** Digests by which a text can be compared and not guessed: one under each secret, that of the newest first. */
    readonly digests: (text: string) => ReadonlyArray<string>
    /** A signature in hexadecimal digits, under the newest secret. */
    readonly sign: (text: string) => string
    /** Whether one of the secrets signed the text; compared in constant time. */
    readonly verifySignature: (text: string, signature: string) => boolean
    /** What a deployment's name is made of, under the newest secret: nobody without it can compute another's name. */
    readonly hashName: (text: string) => Uint8Array
    /** Whether a value is sealed under the newest secret. */
    readonly isUnderCurrentSecret: (sealed: string) => boolean
  }
>()("@tollgate/core/crypto/SecretBox") {
  /** The keys are derived now, so that the layer does not keep the secrets. */
  static layer(options: SecretBoxOptions): Layer.Layer<SecretBox, ConfigurationError> {
    const made = Effect.runSyncExit(make(options))
    return Layer.effect(SecretBox, made)
  }
}
