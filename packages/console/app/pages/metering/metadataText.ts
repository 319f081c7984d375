/** Metadata as a person edits it: JSON. */
import { InputError } from "../../api/ApiError.ts"
import type { SubscriptionJson } from "../../api/types.ts"

type Metadata = NonNullable<SubscriptionJson["metadata"]>

export const formatMetadata = (metadata: Metadata | undefined): string =>
  metadata === undefined ? "" : JSON.stringify(metadata, null, 2)

/** An empty text is no metadata. */
export const parseMetadata = (text: string): Metadata | undefined => {
  if (text.trim() === "") return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new InputError("The metadata is not JSON", error instanceof Error ? error.message : String(error))
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InputError("The metadata is not an object", 'Enter an object, such as { "note": "pilot" }.')
  return value as Metadata
}
