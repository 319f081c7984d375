/**
 * Arrays in the text format of PostgreSQL. The driver's own conversion takes several times as long.
 */
const needsEscape = /["\\]/

const quote = (text: string): string => `"${needsEscape.test(text) ? text.replace(/["\\]/g, "\\$&") : text}"`

export const toTextArray = (texts: ReadonlyArray<string | null>): string =>
  `{${texts.map((text) => (text === null ? "NULL" : quote(text))).join(",")}}`

export const toNumberArray = (numbers: ReadonlyArray<number>): string => `{${numbers.join(",")}}`

export const parseNumberArray = (literal: string): ReadonlyArray<number> => JSON.parse(`[${literal.slice(1, -1)}]`)
