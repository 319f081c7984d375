/**
 * Preserves fields that this version does not know when it replaces a record. During a rolling upgrade an older process
 * replaces records of a newer one. Unknown fields are kept at any depth, as long as the object that contains them remains.
 */
type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isArray = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** `next` plus the fields of `stored` that are not in `decoded`. `decoded` is `stored` as this version decodes it. */
const merge = (next: Json, decoded: Json | undefined, stored: Json | undefined): Json => {
  if (isObject(next) && isObject(decoded) && isObject(stored)) {
    const unknownFields = Object.entries(stored).filter(
      ([name]) => !Object.hasOwn(decoded, name) && !Object.hasOwn(next, name)
    )
    const merged = Object.entries(next).map(([name, value]): [string, Json] => [
      name,
      Object.hasOwn(decoded, name) ? merge(value, decoded[name], stored[name]) : value
    ])
    return Object.fromEntries([...merged, ...unknownFields])
  }
  return isArray(next) && isArray(decoded) && isArray(stored) ? mergeItems(next, decoded, stored) : next
}

/** Matches items by their JSON, wherever they moved in the array. Equal items are matched in their original order. */
const mergeItems = (
  next: ReadonlyArray<Json>,
  decoded: ReadonlyArray<Json>,
  stored: ReadonlyArray<Json>
): ReadonlyArray<Json> => {
  if (!stored.some((item) => typeof item === "object" && item !== null)) return next
  const indicesByJson = new Map<string, Array<number>>()
  for (const [index, item] of decoded.entries()) {
    const json = JSON.stringify(item)
    const indices = indicesByJson.get(json)
    if (indices === undefined) indicesByJson.set(json, [index])
    else indices.push(index)
  }
  for (const indices of indicesByJson.values()) indices.reverse()
  return next.map((item) => {
    const index = indicesByJson.get(JSON.stringify(item))?.pop()
    return index === undefined ? item : merge(item, decoded[index], stored[index])
  })
}

/** Takes three JSON strings: the value to write, the replaced value as this version decodes it, and as it is stored. */
export const copyUnknownFields = (next: string, decoded: string, stored: string): string =>
  JSON.stringify(merge(JSON.parse(next), JSON.parse(decoded), JSON.parse(stored)))
