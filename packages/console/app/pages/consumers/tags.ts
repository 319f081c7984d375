/** Tags as they are typed and as the API takes them. */

import type { Pairs } from "@tollgate/ui/components/PairsField.tsx"
import type { ConsumerJson } from "../../api/types.ts"

export type Tags = NonNullable<ConsumerJson["tags"]>

const namePattern = /^[A-Za-z0-9_.-]{1,64}$/
const maxValueLength = 256

export const toPairs = (tags: Tags = {}): Pairs =>
  Object.entries(tags).map(([name, value]) => [name, String(value)] as const)

/** Values that were not changed keep their type: numbers and booleans do not become strings. */
export const toTags = (pairs: Pairs, former: Tags = {}): Tags =>
  Object.fromEntries(
    pairs
      .filter(([name]) => name !== "")
      .map(([name, value]) => [
        name,
        name in former && String(former[name]) === value ? (former[name] ?? value) : value
      ])
  )

export const formatTags = (tags: Tags = {}): string =>
  toPairs(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ")

/** What is wrong with tags, if anything. */
export const checkTags = (pairs: Pairs): string | undefined => {
  const names = new Set<string>()
  for (const [name, value] of pairs) {
    if (name === "" && value === "") continue
    if (name === "") return `The value “${value}” has no name.`
    if (!namePattern.test(name)) return `“${name}”: use up to 64 letters, digits, “_”, “.” and “-” in a name.`
    if (names.has(name)) return `The name “${name}” is used twice.`
    if ([...value].length > maxValueLength) return `The value of “${name}” is longer than ${maxValueLength} characters.`
    names.add(name)
  }
  return undefined
}
