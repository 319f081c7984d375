/**
 * The format of a generated API key: `tg_<40 random characters>_<6 characters of checksum>`. The checksum rejects a
 * mistyped or invented key without a store lookup.
 */
import { crc32 } from "node:zlib"
import { Effect, Schema } from "effect"
import * as Base62 from "./Base62.ts"

const randomCharacters = 40
const checksumCharacters = 6

/** What a key prefix must be, in words. */
export const keyPrefixForm = "2 to 16 lower-case letters and digits, starting with a letter"

export const KeyPrefix = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^[a-z][a-z0-9]{1,15}$/u, { expected: keyPrefixForm }))
)

export interface KeyFormat {
  /** Generates a new key value. */
  readonly generate: Effect.Effect<string>
  /** Whether the value can be a generated key (by its checksum) or a supplied key (by its characters). */
  readonly isWellFormed: (value: string) => boolean
  /** Whether the value starts like a generated key. */
  readonly hasPrefix: (value: string) => boolean
}

const visibleAscii = /^[\x21-\x7e]{16,256}$/

const checksum = (text: string): string => Base62.encode(crc32(text), checksumCharacters)

/** A text with `_` and its checksum. */
export const addChecksum = (text: string): string => `${text}_${checksum(text)}`

/** Whether `addChecksum` can have made a text. */
export const hasChecksum = (text: string): boolean => text === addChecksum(text.slice(0, -1 - checksumCharacters))

export const make = (prefix: string): KeyFormat => {
  const prefixWithSeparator = `${prefix}_`
  const bodyLength = prefixWithSeparator.length + randomCharacters
  return {
    generate: Effect.map(Base62.random(randomCharacters), (characters) => addChecksum(`${prefix}_${characters}`)),
    // Characters other than base62 need no check: a value that contains them was never generated, so no lookup finds it.
    isWellFormed: (value) =>
      value.startsWith(prefixWithSeparator)
        ? value.length === bodyLength + 1 + checksumCharacters && hasChecksum(value)
        : visibleAscii.test(value),
    hasPrefix: (value) => value.startsWith(prefixWithSeparator)
  }
}

/** The last characters of a key value, by which its owner recognizes it. */
export const getSuffix = (value: string): string => value.slice(-4)
export const mask = (suffix: string): string => `****${suffix}`
