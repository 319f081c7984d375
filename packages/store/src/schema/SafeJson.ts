/**
 * Rejects JSON that no endpoint accepts: deep nesting, lone surrogates, U+0000, non-finite numbers, the property
 * `__proto__`, and more values than can be validated in a moment.
 */
import { type InvalidInput, invalidBody } from "./InvalidInput.ts"
import { toPointer } from "./jsonPointer.ts"

export const maxDepth = 64

/** Maximum values in a body: numbers, texts, lists, objects and so on, at all levels. */
export const maxValues = 100_000

/** Maximum entries of a list or an object. Metadata is exempt: its size in bytes is limited instead. */
const maxEntries = 1_000

export const tooManyValues = `has more than ${maxValues} values`

/** What is unsafe, and where, from the inside out. */
interface Unsafe {
  readonly detail: string
  readonly path: Array<string>
}

const makeUnsafe = (detail: string): Unsafe => ({ detail, path: [] })

const findUnsafeString = (text: string): Unsafe | undefined => {
  if (text.includes("\u0000")) return makeUnsafe("contains the character U+0000")
  return text.isWellFormed() ? undefined : makeUnsafe("contains a lone surrogate")
}

const findUnsafeKey = (key: string): Unsafe | undefined =>
  key === "__proto__" ? makeUnsafe("is not allowed as a property name") : findUnsafeString(key)

/** Returns an error for the first unsafe value in parsed JSON, or `undefined`. */
export const findUnsafeJson = (json: unknown): InvalidInput | undefined => {
  let values = 0

  const find = (value: unknown, depth: number, isMetadata: boolean): Unsafe | undefined => {
    if (++values > maxValues) return makeUnsafe(tooManyValues)
    if (depth > maxDepth) return makeUnsafe(`is nested deeper than ${maxDepth} levels`)
    if (typeof value === "string") return findUnsafeString(value)
    if (typeof value === "number") return Number.isFinite(value) ? undefined : makeUnsafe("the number is too large")
    if (typeof value !== "object" || value === null) return undefined
    // The keys of a list are not made: a list of 100,000 values is checked in 5 ms instead of 40.
    const keys = Array.isArray(value) ? undefined : Object.keys(value)
    const items: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value)
    if (!isMetadata && items.length > maxEntries) return makeUnsafe(`has more than ${maxEntries} entries`)
    for (let index = 0; index < items.length; index++) {
      const key = keys?.[index]
      const unsafe =
        (key === undefined ? undefined : findUnsafeKey(key)) ??
        find(items[index], depth + 1, isMetadata || (depth === 0 && key === "metadata"))
      // The place is noted only now: of safe JSON, which is the rule, it would be noted for nothing.
      unsafe?.path.push(key ?? String(index))
      if (unsafe !== undefined) return unsafe
    }
    return undefined
  }

  const unsafe = find(json, 0, false)
  return unsafe && invalidBody(toPointer(unsafe.path.reverse()), unsafe.detail)
}
