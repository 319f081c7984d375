/** Metadata as it is typed: JSON. */
import { InputError } from "@tollgate/ui/api/ApiError.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import type { ConsumerJson } from "../api/types.ts"

export type Metadata = NonNullable<ConsumerJson["metadata"]>

const maxBytes = 64 * 1024

export const formatMetadata = (metadata: Metadata = {}): string =>
  Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata, null, 2)

interface ParsedMetadata {
  readonly value: Metadata
  /** What is wrong with the text, if anything. */
  readonly error: string | undefined
}

const fail = (error: string): ParsedMetadata => ({ value: {}, error })

/** An empty text is an empty object. */
export const parseMetadata = (text: string): ParsedMetadata => {
  if (text.trim() === "") return { value: {}, error: undefined }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return fail(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return fail('The outermost value must be an object, such as { "team": "search" }.')
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  if (bytes > maxBytes) return fail(`It takes ${formatCount(bytes)} bytes; the limit is ${formatCount(maxBytes)}.`)
  return { value: value as Metadata, error: undefined }
}

/** Like `parseMetadata`, for forms that say below all fields what is wrong. An empty text is no metadata. */
export const readMetadata = (text: string): Metadata | undefined => {
  if (text.trim() === "") return undefined
  const { value, error } = parseMetadata(text)
  if (error !== undefined) throw new InputError("The metadata cannot be used", error)
  return value
}
