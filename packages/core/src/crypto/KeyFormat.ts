/**
 * What an API key looks like: `tg_<40 random characters>_<6 characters of checksum>`. The checksum tells a mistyped
 * or made-up key from a real one before any storage is asked.
 */
import { crc32 } from "node:zlib"
import { Effect, Schema } from "effect"
import * as Base62 from "./Base62.ts"

const randomCharacters = 40
const checksumCharacters = 6

export const KeyPrefix = Schema.String.pipe(Schema.check(Schema.isPattern(/^[a-z][a-z0-9]{1,15}$/u)))

export interface KeyFormat {
  /** A new key. */
  readonly generate: Effect.Effect<string>
  /** Whether this could be one of our keys, or one that a host supplied. */
  readonly isWellFormed: (value: string) => boolean
}

const visibleAscii = /^[\x21-\x7e]{16,256}$/

const checksum = (text: string): string => Base62.encode(crc32(text), checksumCharacters)

export const make = (prefix: string): KeyFormat => {
  const start = `${prefix}_`
  const bodyLength = start.length + randomCharacters
  // The checksum tells the rest: what is not made of our characters is not stored under any.
  const isOwn = (value: string): boolean =>
    value.length === bodyLength + 1 + checksumCharacters && value.endsWith(`_${checksum(value.slice(0, bodyLength))}`)
  return {
    generate: Effect.map(Base62.random(randomCharacters), (characters) => {
      const body = `${prefix}_${characters}`
      return `${body}_${checksum(body)}`
    }),
    isWellFormed: (value) => (value.startsWith(start) ? isOwn(value) : visibleAscii.test(value))
  }
}

/** Only the end of a key, by which its owner knows it again. */
export const suffixOf = (value: string): string => value.slice(-4)
export const mask = (suffix: string): string => `****${suffix}`
