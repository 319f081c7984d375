/**
 * Rejects JSON that no endpoint accepts: deep nesting, lone surrogates, U+0000, non-finite numbers, the property
 * `__proto__`, and lists that take too long to validate.
 */
import { type InvalidInput, invalidBody } from "./InvalidInput.ts"

export const maxDepth = 64

/** Maximum entries of a list or an object. Metadata is exempt: its size in bytes is limited instead. */
const maxEntries = 1_000

const toSegment = (key: string | number): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1")

/** Returns an error for the first unsafe value in parsed JSON, or `undefined`. */
export const findUnsafeJson = (value: unknown, pointer = "", depth = 0): InvalidInput | undefined => {
  if (depth > maxDepth) return invalidBody(pointer, `is nested deeper than ${maxDepth} levels`)
  if (typeof value === "string") return findUnsafeString(value, pointer)
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : invalidBody(pointer, "the number is too large")
  }
  if (typeof value !== "object" || value === null) return undefined
  const entries = Object.entries(value)
  if (entries.length > maxEntries && !pointer.startsWith("/metadata")) {
    return invalidBody(pointer, `has more than ${maxEntries} entries`)
  }
  for (const [key, item] of entries) {
    const itemPointer = `${pointer}/${toSegment(key)}`
    if (key === "__proto__") return invalidBody(itemPointer, "is not allowed as a property name")
    const error = findUnsafeString(key, itemPointer) ?? findUnsafeJson(item, itemPointer, depth + 1)
    if (error !== undefined) return error
  }
  return undefined
}

const findUnsafeString = (text: string, pointer: string): InvalidInput | undefined => {
  if (text.includes("\u0000")) return invalidBody(pointer, "contains the character U+0000")
  return text.isWellFormed() ? undefined : invalidBody(pointer, "contains a lone surrogate")
}
