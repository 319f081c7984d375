/** The fields of a key as they are typed and as the API takes them. */
import { fromLocalInput, toLocalInput } from "@tollgate/ui/format/time.ts"

const scopePattern = /^(?:[A-Za-z0-9_.:-]{1,128}|[A-Za-z0-9_.:-]{0,126}:\*|\*)$/

export const parseScopes = (text: string): ReadonlyArray<string> => [
  ...new Set(text.split(/[\s,]+/).filter((scope) => scope !== ""))
]

/** What is wrong with scopes, if anything. */
export const checkScopes = (text: string): string | undefined => {
  const wrong = parseScopes(text).find((scope) => !scopePattern.test(scope))
  return wrong === undefined
    ? undefined
    : `“${wrong}”: use letters, digits and “_”, “.”, “:”, “-”, with “*” only alone or after a final colon.`
}

/** The input has whole minutes: a time that was not changed stays exactly as it was. */
export const parseExpiry = (input: string, former?: string): string | undefined =>
  input === "" ? undefined : former !== undefined && toLocalInput(former) === input ? former : fromLocalInput(input)

/** A key value that the caller supplies. */
export const checkValue = (value: string): string | undefined =>
  value === "" || /^[\x21-\x7e]{16,256}$/.test(value) ? undefined : "Use 16 to 256 visible characters without spaces."
