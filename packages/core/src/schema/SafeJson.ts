/**
 * What no input may have in it, whichever way it came: nesting without end, half characters, numbers that are none, a
 * property that means something to JavaScript, or lists that take long to refuse.
 */
import { type InvalidInput, invalidBody } from "./InvalidInput.ts"

export const maxDepth = 64

/** Entries of a list or an object; metadata has a size of its own. */
const maxEntries = 1_000

const segment = (key: string | number): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1")

/** The first place in parsed JSON that must not be stored. */
export const findUnsafeJson = (value: unknown, pointer = "", depth = 0): InvalidInput | undefined => {
  if (depth > maxDepth) return invalidBody(pointer, `it is nested deeper than ${maxDepth}`)
  if (typeof value === "string") return textOffence(value, pointer)
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : invalidBody(pointer, "the number is too large")
  }
  if (typeof value !== "object" || value === null) return undefined
  const entries = Object.entries(value)
  if (entries.length > maxEntries && !pointer.startsWith("/metadata")) {
    return invalidBody(pointer, `it has more than ${maxEntries} entries`)
  }
  for (const [key, item] of entries) {
    const place = `${pointer}/${segment(key)}`
    if (key === "__proto__") return invalidBody(place, "a property may not have this name")
    const found = textOffence(key, place) ?? findUnsafeJson(item, place, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const textOffence = (text: string, pointer: string): InvalidInput | undefined => {
  if (text.includes("\u0000")) return invalidBody(pointer, "it has the character U+0000 in it")
  return text.isWellFormed() ? undefined : invalidBody(pointer, "it has half a surrogate pair in it")
}
