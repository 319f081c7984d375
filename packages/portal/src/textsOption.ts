/**
 * Checks the texts that a host gives the page.
 */
import { Options } from "@tollgate/core/module"
import { defaultTexts, type PortalTexts } from "./texts.ts"

const isLanguage = (text: string): boolean => {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(text).length > 0
  } catch {
    return false
  }
}

export const textsOption = Options.value(
  (value): value is Partial<PortalTexts> =>
    Options.isPlainObject(value) &&
    Object.entries(value).every(([name, text]) => Object.hasOwn(defaultTexts, name) && typeof text === "string") &&
    (!("language" in value) || isLanguage(String(value.language))),
  `must be an object of texts by their names, which are ${Object.keys(defaultTexts).join(", ")}; language must be one such as en or de-AT`
)
