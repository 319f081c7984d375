/**
 * Length limits of strings in requests, which bound the size of pages and caches. Stored records are read without these
 * limits.
 */
import { Schema } from "effect"

/** Strings without a more specific limit: descriptions, labels of meters. */
export const LongText = Schema.String.pipe(Schema.check(Schema.isMaxLength(4_096)))

/** Labels, and identifiers of external systems. */
export const ShortText = Schema.String.pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(256)))
