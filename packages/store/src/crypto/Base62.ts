/**
 * Base62 encoding. Letters and digits need no escaping in a URL or a header, and a double click selects all of them.
 */
import { Effect } from "effect"
import { SecureRandom } from "./SecureRandom.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/**
 * The largest multiple of 62 below 256. Larger bytes are rejected: they would make the first characters more likely.
 */
const rejectionBound = 248

/** A random string of `length` uniformly distributed characters. */
export const random = (length: number): Effect.Effect<string> =>
  Effect.map(SecureRandom, ({ bytes }) => {
    let text = ""
    while (text.length < length) {
      for (const byte of bytes(length)) if (byte < rejectionBound && text.length < length) text += alphabet[byte % 62]
    }
    return text
  })

/** Encodes a number, padded to `length` characters. */
export const encode = (value: number, length: number): string => {
  let text = ""
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = alphabet[rest % 62] + text
  return text
}
