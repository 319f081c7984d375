/**
 * The session: the token and the address of the customer, from the link that opened the page. The tab keeps both, so that
 * the page can be reloaded; the link is removed from the address, so that it is in no bookmark.
 */
import { signal } from "@preact/signals"
import { ApiError } from "@tollgate/ui/api/ApiError.ts"
import { get, isSegment } from "@tollgate/ui/api/request.ts"
import { setCredentials } from "@tollgate/ui/session/credentials.ts"
import { tabStorage } from "@tollgate/ui/session/storage.ts"
import type { PortalHomeJson } from "../types.ts"
import { settings } from "./settings.ts"

interface Session {
  readonly token: string
  readonly path: string
}

const storageKeys = { token: "portal-token", path: "portal-path", returnUrl: "portal-return-url" }

/** Headers cannot carry other characters. */
const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

/** Anyone can make a link: it leads to a customer, and to nothing else. */
const isCustomerPath = (path: string): boolean =>
  /^accounts\/[^/?#]+\/key-buckets\/[^/?#]+\/consumers\/[^/?#]+$/.test(path) && path.split("/").every(isSegment)

const parseLink = (hash: string): Session | undefined => {
  const values = new URLSearchParams(hash.replace(/^#/, ""))
  const [token, path] = [values.get("token"), values.get("path")]
  return token !== null && path !== null && isToken(token) && isCustomerPath(path) ? { token, path } : undefined
}

const isLink = (hash: string): boolean => hash.startsWith("#token=")

const readKept = (): Session | undefined => {
  const [token, path] = [tabStorage.get(storageKeys.token), tabStorage.get(storageKeys.path)]
  return token !== undefined && path !== undefined && isCustomerPath(path) ? { token, path } : undefined
}

const keep = (session: Session | undefined): void => {
  tabStorage.set(storageKeys.token, session?.token)
  tabStorage.set(storageKeys.path, session?.path)
}

const takeSession = (): Session | undefined => {
  if (!isLink(location.hash)) return readKept()
  const linked = parseLink(location.hash)
  history.replaceState(null, "", location.pathname)
  tabStorage.set(storageKeys.returnUrl, undefined)
  keep(linked)
  return linked
}

const session = takeSession()

/** What the session may do and show. */
export const about = signal<PortalHomeJson | undefined>(undefined)
export const hasEnded = signal(session === undefined)
/** Where the host would have the customer return to. It outlives the session. */
export const returnUrl = signal(tabStorage.get(storageKeys.returnUrl) ?? settings.returnUrl)

export const may = (permission: PortalHomeJson["allow"][number]): boolean =>
  about.value?.allow.includes(permission) === true

/** The path of a resource of the customer. */
export const toPortalPath = (path: string): string => `/v1/${session?.path}/portal${path}`

setCredentials({
  getToken: () => session?.token ?? "",
  renew: async () => {
    hasEnded.value = true
    keep(undefined)
    return false
  }
})

/** Reads what the session may do. Fails only if the server cannot say. */
export const readAbout = async (signal?: AbortSignal): Promise<void> => {
  try {
    const found = await get<PortalHomeJson>(toPortalPath(""), {}, signal)
    about.value = found
    returnUrl.value = found.returnUrl ?? settings.returnUrl
    tabStorage.set(storageKeys.returnUrl, found.returnUrl)
  } catch (error) {
    if (!(error instanceof ApiError) || error.problem.status !== 401) throw error
  }
}

// A link that is opened in a tab that shows the page changes only the fragment.
addEventListener("hashchange", () => {
  if (isLink(location.hash)) location.reload()
})
