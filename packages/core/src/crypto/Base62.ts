/**
 * Letters and digits alone: what may stand in a URL, a header and a double click.
 */
import { Effect } from "effect"
import { SecureRandom } from "./SecureRandom.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** The largest multiple of 62 that a byte can hold: what lies above would favour the first characters. */
const rejectionBound = 248

/** So many characters, each as likely as any other. */
export const random = (length: number): Effect.Effect<string> =>
  Effect.map(SecureRandom, ({ bytes }) => {
    let text = ""
    while (text.length < length) {
      for (const byte of bytes(length)) if (byte < rejectionBound && text.length < length) text += alphabet[byte % 62]
    }
    return text
  })

/** A number in so many characters. */
export const encode = (value: number, length: number): string => {
  let text = ""
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = alphabet[rest % 62] + text
  return text
}
