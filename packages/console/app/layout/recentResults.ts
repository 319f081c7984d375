/** What was opened lately, in each account. It is kept in memory only, and forgotten when somebody else signs in. */
import { effect, signal } from "@preact/signals"
import { caller } from "../session/session.ts"
import type { SearchResult } from "./findAnything.ts"

const maxRecent = 8

const recent = signal<ReadonlyArray<SearchResult & { readonly account: string }>>([])

effect(() => {
  caller.value
  recent.value = []
})

export const getRecent = (account: string): ReadonlyArray<SearchResult> =>
  recent.value.filter((result) => result.account === account)

export const remember = (account: string, result: SearchResult): void => {
  const others = recent.peek().filter(({ link }) => link !== result.link)
  recent.value = [{ ...result, account }, ...others].slice(0, maxRecent)
}
