/**
 * How the search ranks. VitePress sends these functions to browsers as text, so each contains all that it needs.
 */
import type { DefaultTheme } from "vitepress"

type Options = NonNullable<NonNullable<DefaultTheme.LocalSearchOptions["miniSearch"]>["searchOptions"]>

/** Guides come before reference, and reference before the names of the TypeScript API and the design. */
const boostDocument = (
  id: string,
  _term: string,
  { titles }: { readonly titles?: ReadonlyArray<string> } = {}
): number => {
  if (id.startsWith("/reference/api/")) return 0.05
  if (id.startsWith("/design/") || id.startsWith("/reference/http-operations")) return 0.2
  if (id.startsWith("/reference/")) return 0.4
  // The page itself, and then its sections.
  return titles?.length === 0 ? 1.5 : 1
}

/** Words of other products, and other words for the same thing. Words that every page has are left out. */
const processTerm = (term: string): string | ReadonlyArray<string> | null => {
  const word = term.toLowerCase()
  if (/^(an?|and|as|by|for|from|how|i|in|is|my|of|on|or|the|to|what|why|with)$/.test(word)) return null
  const synonyms: Readonly<Record<string, string>> = {
    analytics: "usage",
    audit: "events",
    container: "docker",
    dashboard: "console",
    disable: "suspend",
    entitlement: "feature",
    hosting: "deployments",
    identity: "consumer",
    invoice: "billing",
    kubernetes: "docker",
    pricing: "plans",
    revoke: "suspend",
    rotate: "replace",
    sso: "openid",
    stripe: "billing",
    tenant: "account",
    throttle: "rate",
    wallet: "credits"
  }
  const synonym = synonyms[word]
  return synonym === undefined ? word : [word, synonym]
}

export const searchOptions: Options = {
  boost: { title: 6, titles: 2, text: 1 },
  boostDocument,
  // A short word has too many neighbours.
  fuzzy: (term: string) => (term.length > 5 ? 0.15 : false),
  prefix: (term: string) => term.length > 2,
  processTerm: processTerm as Options["processTerm"] & {}
}
