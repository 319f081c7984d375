/**
 * The current page is in the fragment of the address, as in `#/accounts/acme/events?type=consumer.*`, so that the console
 * works below any prefix, links can be shared, and the back button works.
 */
import { signal } from "@preact/signals"

export interface Address {
  /** The decoded segments of the path. */
  readonly segments: ReadonlyArray<string>
  readonly query: Readonly<Record<string, string>>
}

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

const parse = (hash: string): Address => {
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?", 2)
  return {
    segments: path
      .split("/")
      .filter((segment) => segment !== "")
      .map(decode),
    query: Object.fromEntries(new URLSearchParams(search))
  }
}

export const address = signal<Address>(parse(location.hash))

/** The code of a link that signs in. It is no page: the current one stays, with what was entered. */
export const findCode = (hash: string): string | undefined => /^#code=(.+)$/.exec(hash)?.[1]

addEventListener("hashchange", () => {
  if (findCode(location.hash) === undefined) address.value = parse(location.hash)
})

export type LinkQuery = Readonly<Record<string, string | number | undefined>>

/** The link to a page: `linkTo(["accounts", name, "events"], { type: "consumer.*" })`. */
export const linkTo = (segments: ReadonlyArray<string>, query: LinkQuery = {}): string => {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, String(value)]]
    )
  ).toString()
  return `#/${segments.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`
}

/** Shows another page in place of this one, at once: no part of this one asks the server for anything more. */
export const replaceAddress = (link: string): void => {
  location.replace(link)
  address.value = parse(location.hash)
}

export const goTo = (link: string): void => {
  location.hash = link
}

/** Changes the query of the current page. `undefined` and `""` remove a parameter. */
export const setQuery = (query: LinkQuery): void =>
  goTo(linkTo(address.value.segments, { ...address.value.query, ...query }))
