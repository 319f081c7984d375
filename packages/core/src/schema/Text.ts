/**
 * Texts that callers give, bounded, so that a page or a cache of them is. What is stored is read whatever its length.
 */
import { Schema } from "effect"

/** Any text without a limit of its own: descriptions, labels of meters. */
export const LongText = Schema.String.pipe(Schema.check(Schema.isMaxLength(4_096)))

/** Labels and identifiers of other systems. */
export const ShortText = Schema.String.pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(256)))
