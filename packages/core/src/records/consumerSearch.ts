/**
 * What consumers and their keys are found by.
 */
import { type SearchField, toSearchTerms } from "@tollgate/store/internal"
import type { StoredKey } from "./ApiKey.ts"
import type { StoredConsumer } from "./Consumer.ts"

const maxDescriptionWords = 20

/** The first words of a text, without the punctuation around them. */
const toWords = (text: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (const [word] of text.matchAll(/[^\s]+/gu)) {
    if (words.length === maxDescriptionWords) break
    const trimmed = word
      .slice(0, 200)
      .replace(/^[^\p{L}\p{N}]+/u, "")
      .replace(/[^\p{L}\p{N}]+$/u, "")
    if (trimmed !== "") words.push(trimmed)
  }
  return words
}

/** An address, and what comes before its `@`. */
const toEmailTexts = (email: string | undefined): ReadonlyArray<string> =>
  email === undefined ? [] : [email, email.slice(0, email.lastIndexOf("@"))]

/** The most telling fields first: a record has a limited number of terms. */
export const getConsumerSearchFields = (consumer: StoredConsumer): ReadonlyArray<SearchField> => {
  const { id, name, customerKey, description = "", tags = {}, managers, managerInvites } = consumer
  return [
    { field: "name", texts: [name] },
    { field: "name", texts: name.split("-").filter((part) => part !== name), range: "parts" },
    { field: "id", texts: [id] },
    { field: "customerKey", texts: customerKey === undefined ? [] : [customerKey] },
    { field: "managers", texts: managers.flatMap(({ email }) => toEmailTexts(email)), range: "people" },
    { field: "managerInvites", texts: managerInvites.flatMap(({ email }) => toEmailTexts(email)), range: "people" },
    { field: "tags", texts: Object.values(tags).map(String), range: "tags" },
    { field: "description", texts: toWords(description), range: "description" }
  ]
}

/** The ranges of the fields. */
export const consumerSearchRanges = ["", "parts", "people", "tags", "description"]

/** By this term consumers are sorted. */
export const byName = (name: string): string => `name:${name}`

export const getConsumerSearchTerms = (consumer: StoredConsumer): ReadonlyArray<string> => [
  byName(consumer.name),
  ...toSearchTerms(getConsumerSearchFields(consumer))
]

const suffixLength = 4

/** The term for the last characters of a key value. The record has them as plain text, too, because callers see them. */
export const bySuffix = (suffix: string): string => `suffix:${suffix}`

/** Whether a text may be the end of a key value. */
export const isSuffix = (text: string): boolean => /^[\x21-\x7e]{4}$/.test(text)

/** A key whose value is short is not found by the end of it, which would be too much of the value. */
export const getKeySearchTerms = ({ suffix, hasShortValue }: StoredKey): ReadonlyArray<string> =>
  hasShortValue === true || suffix.length < suffixLength ? [] : [bySuffix(suffix.slice(-suffixLength))]
