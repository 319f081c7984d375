/**
 * Rejects JSON that no endpoint accepts: deep nesting, lone surrogates, U+0000, non-finite numbers, the property
 * `__proto__`, and more values than can be validated in a moment.
 */
import { type InvalidInput, invalidBody } from "./InvalidInput.ts"

export const maxDepth = 64

/** Maximum values in a body: numbers, texts, lists, objects and so on, at all levels. */
export const maxValues = 100_000

/** Maximum entries of a list or an object. Metadata is exempt: its size in bytes is limited instead. */
const maxEntries = 1_000

export const tooManyValues = `has more than ${maxValues} values`

/** An unsafe value, and the way to it from the inside out. The way is noted only when there is one: JSON is mostly safe. */
interface Unsafe {
  readonly detail: string
  readonly path: Array<string>
}

const makeUnsafe = (detail: string): Unsafe => ({ detail, path: [] })

const toSegment = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")

const findUnsafeString = (text: string): Unsafe | undefined => {
  if (text.includes("\u0000")) return makeUnsafe("contains the character U+0000")
  return text.isWellFormed() ? undefined : makeUnsafe("contains a lone surrogate")
}

const findUnsafeKey = (key: string): Unsafe | undefined =>
  key === "__proto__" ? makeUnsafe("is not allowed as a property name") : findUnsafeString(key)

/** Returns an error for the first unsafe value in parsed JSON, or `undefined`. */
export const findUnsafeJson = (json: unknown): InvalidInput | undefined => {
  let values = 0

  const findInEntry = (key: string, item: unknown, depth: number, hasMaxEntries: boolean): Unsafe | undefined => {
    const unsafe = find(item, depth + 1, hasMaxEntries)
    unsafe?.path.push(toSegment(key))
    return unsafe
  }

  const find = (value: unknown, depth: number, hasMaxEntries: boolean): Unsafe | undefined => {
    if (++values > maxValues) return makeUnsafe(tooManyValues)
    if (depth > maxDepth) return makeUnsafe(`is nested deeper than ${maxDepth} levels`)
    if (typeof value === "string") return findUnsafeString(value)
    if (typeof value === "number") return Number.isFinite(value) ? undefined : makeUnsafe("the number is too large")
    if (typeof value !== "object" || value === null) return undefined
    const keys = Object.keys(value)
    if (hasMaxEntries && keys.length > maxEntries) return makeUnsafe(`has more than ${maxEntries} entries`)
    for (const key of keys) {
      const unsafeKey = Array.isArray(value) ? undefined : findUnsafeKey(key)
      unsafeKey?.path.push(toSegment(key))
      const item = (value as Readonly<Record<string, unknown>>)[key]
      const unsafe = unsafeKey ?? findInEntry(key, item, depth, hasMaxEntries && !(depth === 0 && key === "metadata"))
      if (unsafe !== undefined) return unsafe
    }
    return undefined
  }

  const unsafe = find(json, 0, true)
  return (
    unsafe &&
    invalidBody(
      unsafe.path
        .map((segment) => `/${segment}`)
        .reverse()
        .join(""),
      unsafe.detail
    )
  )
}
