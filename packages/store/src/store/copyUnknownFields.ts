/**
 * Preserves fields that this version does not know when it replaces a record. During a rolling upgrade an older process
 * replaces records of a newer one. Unknown fields are kept at any depth, as long as the object that contains them
 * remains.
 */
type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isArray = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/**
 * `newBody` plus the fields that this version does not know: those in `previousStored` but not in `previousDecoded`.
 */
const merge = (newBody: Json, previousDecoded: Json | undefined, previousStored: Json | undefined): Json => {
  if (isObject(newBody) && isObject(previousDecoded) && isObject(previousStored)) {
    const unknownFields = Object.entries(previousStored).filter(
      ([name]) => !Object.hasOwn(previousDecoded, name) && !Object.hasOwn(newBody, name)
    )
    const merged = Object.entries(newBody).map(([name, value]): [string, Json] => [
      name,
      Object.hasOwn(previousDecoded, name) ? merge(value, previousDecoded[name], previousStored[name]) : value
    ])
    return Object.fromEntries([...merged, ...unknownFields])
  }
  return isArray(newBody) && isArray(previousDecoded) && isArray(previousStored)
    ? mergeItems(newBody, previousDecoded, previousStored)
    : newBody
}

/** Matches items by their JSON, wherever they moved in the array. Equal items are matched in their original order. */
const mergeItems = (
  newBody: ReadonlyArray<Json>,
  previousDecoded: ReadonlyArray<Json>,
  previousStored: ReadonlyArray<Json>
): ReadonlyArray<Json> => {
  if (!previousStored.some((item) => typeof item === "object" && item !== null)) return newBody
  const indicesByJson = new Map<string, Array<number>>()
  for (const [index, item] of previousDecoded.entries()) {
    const json = JSON.stringify(item)
    const indices = indicesByJson.get(json)
    if (indices === undefined) indicesByJson.set(json, [index])
    else indices.push(index)
  }
  for (const indices of indicesByJson.values()) indices.reverse()
  return newBody.map((item) => {
    const index = indicesByJson.get(JSON.stringify(item))?.pop()
    return index === undefined ? item : merge(item, previousDecoded[index], previousStored[index])
  })
}

/**
 * Takes three JSON strings: the value to write, the replaced value as this version decodes it (without unknown fields),
 * and the replaced value as it is stored (with them).
 */
export const copyUnknownFields = (newBody: string, previousDecoded: string, previousStored: string): string =>
  JSON.stringify(merge(JSON.parse(newBody), JSON.parse(previousDecoded), JSON.parse(previousStored)))
