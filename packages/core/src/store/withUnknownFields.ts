/**
 * During a rolling upgrade an older process rewrites records of a newer one. Fields that it does not know are kept, at
 * any depth, as long as what they stand in is still there.
 */
type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isArray = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** `next` with what `stored` has and `known`, the same as this version reads it, lacks. */
const merge = (next: Json, known: Json | undefined, stored: Json | undefined): Json => {
  if (isObject(next) && isObject(known) && isObject(stored)) {
    const kept = Object.entries(stored).filter(([name]) => !Object.hasOwn(known, name) && !Object.hasOwn(next, name))
    const merged = Object.entries(next).map(([name, value]): [string, Json] => [
      name,
      Object.hasOwn(known, name) ? merge(value, known[name], stored[name]) : value
    ])
    return Object.fromEntries([...merged, ...kept])
  }
  return isArray(next) && isArray(known) && isArray(stored) ? mergeItems(next, known, stored) : next
}

/** Items that are as they were are found again wherever they stand now; of equal ones, the first that is left. */
const mergeItems = (
  next: ReadonlyArray<Json>,
  known: ReadonlyArray<Json>,
  stored: ReadonlyArray<Json>
): ReadonlyArray<Json> => {
  if (!stored.some((item) => typeof item === "object" && item !== null)) return next
  const places = new Map<string, Array<number>>()
  for (const [index, item] of known.entries()) {
    const text = JSON.stringify(item)
    const same = places.get(text)
    if (same === undefined) places.set(text, [index])
    else same.push(index)
  }
  for (const indices of places.values()) indices.reverse()
  return next.map((item) => {
    const index = places.get(JSON.stringify(item))?.pop()
    return index === undefined ? item : merge(item, known[index], stored[index])
  })
}

/** All three are JSON: the value to write, and the one that it replaces as this version reads it and as it is stored. */
export const withUnknownFields = (next: string, known: string, stored: string): string =>
  JSON.stringify(merge(JSON.parse(next), JSON.parse(known), JSON.parse(stored)))
