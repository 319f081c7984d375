/**
 * Hashes, encrypts and signs with keys derived from the configured secrets. API keys are looked up by a keyed hash and
 * encrypted so that they can be shown again.
 *
 * The first configured secret is the primary secret: it encrypts and signs. Every configured secret can decrypt, verify
 * and look up, so that a secret can be replaced while the service runs.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  timingSafeEqual
} from "node:crypto"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import * as KeyFormat from "./KeyFormat.ts"
import { SecureRandom } from "./SecureRandom.ts"

/** The ciphertext was modified, belongs to another record, or was encrypted with a secret that is not configured. */
export class DecryptionError extends Schema.TaggedError<DecryptionError>()("DecryptionError", {
  problem: Schema.String
}) {
  override get message(): string {
    return `Cannot decrypt a stored value: ${this.problem}`
  }
}

/** Whether the values of API keys are kept encrypted, or only their hashes. */
export type KeyStorage = "encrypted" | "hash-only"

/** The secrets of a `SecretBox`, and how it stores key values. */
export interface SecretBoxOptions {
  /** The primary secret, then the others; each of at least 32 characters. */
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  /** `encrypted` stores key values so that they can be shown again; `hash-only` stores only their hashes. */
  readonly keyStorage?: KeyStorage | undefined
  readonly prefix?: string | undefined
}

const minSecretLength = 32

/** Whether this is the example secret from the documentation. */
const isExampleSecret = (secret: string): boolean => /^at least 32 characters/i.test(secret)

/** Block and digest size of SHA-256. */
const blockBytes = 64
const digestBytes = 32
/** The maximum length of a key value. Longer input cannot be a key and takes the slower path. */
const maxFastLength = 256
const nonceBytes = 12
const tagBytes = 16

interface DerivedKeys {
  /** Identifies the secret in a ciphertext without revealing it. */
  readonly id: string
  readonly hashKey: KeyObject
  /** Buffers for the two digests of an HMAC: each starts with the padded key, followed by space for the message. */
  readonly hmacInner: Buffer
  readonly hmacOuter: Buffer
  readonly encryptionKey: KeyObject
  readonly signKey: KeyObject
  readonly idempotencyDigestKey: KeyObject
  readonly nameKey: KeyObject
  readonly tokenIdKey: KeyObject
}

/** The purposes are part of the stored format: a different purpose gives a different key. */
const deriveKeys = (secret: string): DerivedKeys => {
  const deriveKey = (purpose: string, bytes: number) =>
    Buffer.from(hkdfSync("sha256", secret, "tollgate", `tollgate/v1/${purpose}`, bytes))
  // Node would import a buffer at every use, which takes longer than using it.
  const deriveKeyObject = (purpose: string) => createSecretKey(deriveKey(purpose, 32))
  const hashKey = deriveKey("hash", 32)
  const makeHmacBuffer = (pad: number, messageBytes: number) => {
    const padding = Buffer.concat([hashKey], blockBytes).map((byte) => byte ^ pad)
    return Buffer.concat([padding], blockBytes + messageBytes)
  }
  return {
    id: deriveKey("id", 6).toString("base64url"),
    hashKey: createSecretKey(hashKey),
    hmacInner: makeHmacBuffer(0x36, 3 * maxFastLength),
    hmacOuter: makeHmacBuffer(0x5c, digestBytes),
    encryptionKey: deriveKeyObject("seal"),
    signKey: deriveKeyObject("sign"),
    idempotencyDigestKey: deriveKeyObject("identity"),
    nameKey: deriveKeyObject("deployment-name"),
    tokenIdKey: deriveKeyObject("token-id")
  }
}

/**
 * HMAC-SHA-256 from two one-shot digests in preallocated buffers, which takes half the time of `createHmac`. The inner
 * digest is a binary string, because allocating a buffer for it costs more than the digest itself.
 */
const hashWith = ({ hashKey, hmacInner: inner, hmacOuter: outer }: DerivedKeys, value: string): string => {
  if (value.length > maxFastLength) return createHmac("sha256", hashKey).update(value).digest("base64url")
  const length = inner.write(value, blockBytes)
  outer.write(hash("sha256", inner.subarray(0, blockBytes + length), "binary"), blockBytes, "binary")
  inner.fill(0, blockBytes, blockBytes + length)
  return hash("sha256", outer, "base64url")
}

/** Returns `1.<id of the secret>.<base64url of nonce, ciphertext and tag>`; 1 is the version of this format. */
const encryptWith = (
  { id, encryptionKey }: DerivedKeys,
  value: string,
  associatedData: string,
  nonce: Uint8Array
): string => {
  const cipher = createCipheriv("aes-256-gcm", encryptionKey, nonce, { authTagLength: tagBytes })
  cipher.setAAD(Buffer.from(associatedData))
  const encrypted = Buffer.concat([nonce, cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()])
  return `1.${id}.${encrypted.toString("base64url")}`
}

const decryptWith = ({ encryptionKey }: DerivedKeys, encrypted: Buffer, associatedData: string): string => {
  const nonce = encrypted.subarray(0, nonceBytes)
  const decipher = createDecipheriv("aes-256-gcm", encryptionKey, nonce, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(associatedData))
  decipher.setAuthTag(encrypted.subarray(-tagBytes))
  return decipher.update(encrypted.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8")
}

const signWith = ({ signKey }: DerivedKeys, text: string): string =>
  createHmac("sha256", signKey).update(text).digest("hex")

const constantTimeEquals = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

const make = Effect.fnUntraced(function* (options: SecretBoxOptions) {
  const { keyStorage = "encrypted", prefix = "tg" } = options
  const configurationError = (option: string, problem: string) => new ConfigurationError({ option, problem })
  if (!Schema.is(KeyFormat.KeyPrefix)(prefix)) {
    return yield* configurationError("keyPrefix", `must be ${KeyFormat.keyPrefixForm}`)
  }
  if (keyStorage !== "encrypted" && keyStorage !== "hash-only") {
    return yield* configurationError("keyStorage", 'must be "encrypted" or "hash-only"')
  }
  const [primary, ...others] = options.secrets.map(Redacted.value)
  if (primary === undefined) {
    return yield* configurationError(
      "secret",
      `must have at least ${minSecretLength} characters; Tollgate hashes and encrypts keys with it`
    )
  }
  const tooShortIndex = [primary, ...others].findIndex((secret) => secret.length < minSecretLength)
  if (tooShortIndex >= 0) {
    return yield* configurationError(
      "secret",
      `entry ${tooShortIndex + 1} has fewer than ${minSecretLength} characters; use a longer secret`
    )
  }
  if (new Set([primary, ...others]).size <= others.length)
    return yield* configurationError("secret", "contains the same secret twice")
  if ([primary, ...others].some(isExampleSecret)) {
    return yield* configurationError(
      "secret",
      "is the example from the documentation; generate a random one, for example with `openssl rand -base64 32`"
    )
  }
  const primaryKeys = deriveKeys(primary)
  const secrets = [primaryKeys, ...others.map(deriveKeys)]
  const format = KeyFormat.make(prefix)

  return SecretBox.of({
    keyStorage,
    secretIds: secrets.map(({ id }) => id),
    generate: format.generate,
    isWellFormed: format.isWellFormed,
    hasKeyPrefix: format.hasPrefix,
    keyHashes: (value) => {
      const hashes: Array<string> = []
      for (const secret of secrets) hashes.push(hashWith(secret, value))
      return hashes
    },
    encrypt: (value, associatedData) =>
      Effect.map(SecureRandom, ({ bytes }) => encryptWith(primaryKeys, value, associatedData, bytes(nonceBytes))),
    idempotencyDigests: (text) =>
      secrets.map(({ idempotencyDigestKey }) =>
        createHmac("sha256", idempotencyDigestKey).update(text).digest("base64url")
      ),
    sign: (text) => signWith(primaryKeys, text),
    verifySignature: (text, signature) =>
      /^[0-9a-f]{64}$/.test(signature) &&
      secrets.some((secret) => constantTimeEquals(signWith(secret, text), signature)),
    hashName: (text) => createHmac("sha256", primaryKeys.nameKey).update(text).digest(),
    hashTokenId: (digest) => createHmac("sha256", primaryKeys.tokenIdKey).update(digest).digest("base64url"),
    isUnderPrimarySecret: (encrypted) => encrypted.startsWith(`1.${primaryKeys.id}.`),
    decrypt: (encrypted, associatedData) =>
      Effect.suspend(() => {
        const [version, id, content = ""] = encrypted.split(".")
        const secret = secrets.find((secret) => secret.id === id)
        if (version !== "1" || secret === undefined) {
          return Effect.fail(
            new DecryptionError({ problem: "it was not encrypted with any of the configured secrets" })
          )
        }
        try {
          return Effect.succeed(decryptWith(secret, Buffer.from(content, "base64url"), associatedData))
        } catch {
          return Effect.fail(new DecryptionError({ problem: "it was modified, or it belongs to another record" }))
        }
      })
  })
})

/**
 * Generates key values, and hashes, encrypts and signs with the secrets. New values use the primary secret; all secrets
 * are accepted.
 */
export class SecretBox extends Context.Service<
  SecretBox,
  {
    readonly keyStorage: KeyStorage
    /** Ids of the secrets, the primary secret first. An id reveals nothing about its secret. */
    readonly secretIds: ReadonlyArray<string>
    /** Generates a new key value. */
    readonly generate: Effect.Effect<string>
    readonly isWellFormed: (value: string) => boolean
    /** Whether a value starts like a generated key. */
    readonly hasKeyPrefix: (value: string) => boolean
    /** Hashes for looking up a key value: one for each secret, the primary secret first. */
    readonly keyHashes: (value: string) => ReadonlyArray<string>
    /** Encrypts a value. `decrypt` fails unless it gets the same associated data, which identifies the record. */
    readonly encrypt: (value: string, associatedData: string) => Effect.Effect<string>
    readonly decrypt: (encrypted: string, associatedData: string) => Effect.Effect<string, DecryptionError>
    /** Keyed digests, which cannot be guessed without a secret: one for each secret, the primary secret first. */
    readonly idempotencyDigests: (text: string) => ReadonlyArray<string>
    /** A hexadecimal signature under the primary secret. */
    readonly sign: (text: string) => string
    /** Whether one of the secrets created the signature. Compares in constant time. */
    readonly verifySignature: (text: string, signature: string) => boolean
    /** A keyed hash for names under the primary secret. Without the secret, names cannot be predicted. */
    readonly hashName: (text: string) => Uint8Array
    /** A keyed hash for the ids of tokens under the primary secret. Without the secret, a token cannot be guessed by it. */
    readonly hashTokenId: (digest: Uint8Array) => string
    /** Whether a value is encrypted with the primary secret. */
    readonly isUnderPrimarySecret: (encrypted: string) => boolean
  }
>()("@tollgate/store/crypto/SecretBox") {
  /** Derives the keys immediately, so that the layer does not retain the secrets in memory. */
  static layer(options: SecretBoxOptions): Layer.Layer<SecretBox, ConfigurationError> {
    const exit = Effect.runSyncExit(make(options))
    return Layer.effect(SecretBox, exit)
  }
}
