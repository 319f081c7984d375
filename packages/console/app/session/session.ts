/**
 * The session: the token, whom it authenticates, and how to get a new one when it has expired. The token is kept in memory;
 * in the session storage of the tab only if the person asks for it.
 */
import { batch, computed, signal } from "@preact/signals"
import { hasPermission } from "@tollgate/core/module"
import { InputError } from "@tollgate/ui/api/ApiError.ts"
import { setCredentials } from "@tollgate/ui/session/credentials.ts"
import { tabStorage } from "@tollgate/ui/session/storage.ts"
import type { CallerJson } from "../api/types.ts"
import { findCode, replaceAddress } from "../routing/router.ts"

const storageKey = "tollgate-management-token"

export const token = signal("")
export const caller = signal<CallerJson | undefined>(undefined)
/** While a token from a link or from the tab's storage is being checked. */
export const isStarting = signal(true)
/** Why the link did not work, or why the person was signed out. */
export const signInNotice = signal<string | undefined>(undefined)

/** Whether the person may do what needs this permission. The server checks it again. */
export const may = (permission: string): boolean =>
  caller.value !== undefined && hasPermission(caller.value, permission)

/** Whether the person may change what customers have. */
export const maySell = (): boolean => may("metering:write") || may("subscriptions:write")

/** A read-only token sees no buttons that change something. */
export const canWrite = computed(() => caller.value?.access === "write")

type SignInResult = "signed-in" | "refused" | "unreachable"

const loadCaller = async (newToken: string): Promise<CallerJson | Exclude<SignInResult, "signed-in">> => {
  const url = new URL("../v1/me", location.href.split("#", 1)[0])
  const headers = { authorization: `Bearer ${newToken}` }
  const response = await fetch(url, { headers, credentials: "omit", cache: "no-store" }).catch(() => undefined)
  if (response === undefined || response.status >= 500) return "unreachable"
  // A proxy may respond with a page of its own.
  return response.ok ? response.json().catch(() => "unreachable") : "refused"
}

/** Headers cannot carry other characters, and no token has them. */
const canBeToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

interface SignInOptions {
  readonly keepInTab: boolean
  /** Where the session begins, if not at the current page, which may be of an account that the new token does not reach. */
  readonly startAt?: string | undefined
}

export const signIn = async (newToken: string, options: SignInOptions): Promise<SignInResult> => {
  if (!canBeToken(newToken)) return "refused"
  const found = await loadCaller(newToken)
  if (typeof found === "string") return found
  batch(() => {
    token.value = newToken
    caller.value = found
    signInNotice.value = undefined
    if (options.startAt !== undefined) replaceAddress(options.startAt)
  })
  keepInTab(options.keepInTab)
  waiting.value?.resolve(true)
  waiting.value = undefined
  return "signed-in"
}

/** Whether the token survives a reload of this tab. */
export const isKeptInTab = signal(false)

export const keepInTab = (keep: boolean): void => {
  isKeptInTab.value = keep
  tabStorage.set(storageKey, keep ? token.value : undefined)
}

export const signOut = (): void => {
  tabStorage.set(storageKey, undefined)
  token.value = ""
  caller.value = undefined
  waiting.value?.resolve(false)
  waiting.value = undefined
}

const waiting = signal<PromiseWithResolvers<boolean> | undefined>(undefined)

/** Whether the token has expired, and the person is asked for another one. */
export const isTokenNeeded = computed(() => waiting.value !== undefined)

/** Asks for another token. Returns whether there is one. */
export const askForToken = (): Promise<boolean> => {
  waiting.value ??= Promise.withResolvers<boolean>()
  return waiting.value.promise
}

setCredentials({ getToken: () => token.value, renew: askForToken })

/** Exchanges the one-time code of a link for a token. Returns what is wrong with it, if anything is. */
const redeemCode = async (code: string, startAt?: string): Promise<string | undefined> => {
  const response = await fetch(new URL("session", location.href.split("#", 1)[0]), {
    method: "POST",
    headers: { "content-type": "application/json" },
    credentials: "omit",
    body: JSON.stringify({ code })
  }).catch(() => undefined)
  const body: { readonly token?: string; readonly detail?: string } = (await response?.json().catch(() => ({}))) ?? {}
  const isSignedIn =
    body.token !== undefined && (await signIn(body.token, { keepInTab: false, startAt })) === "signed-in"
  return isSignedIn ? undefined : (body.detail ?? "The server cannot be reached. Ask for another link when it runs.")
}

/** The code of a link that was opened in a tab with a session. */
export const offeredCode = signal<string | undefined>(undefined)

/** Uses a code. If there is a session, asks first: a page of another site may have opened the link. */
const receiveCode = async (code: string): Promise<void> => {
  if (caller.value === undefined) signInNotice.value = await redeemCode(code)
  else offeredCode.value = code
}

/** Replaces the session. Throws if the code is not valid. */
export const acceptOfferedCode = async (): Promise<void> => {
  const problem = await redeemCode(offeredCode.value ?? "", "#/")
  if (problem !== undefined) throw new InputError("You are still signed in as before", problem)
}

/** The code of a link; removed from the address, so that it is in no bookmark and not in the history. */
const takeCode = (addressBefore: string): string | undefined => {
  const code = findCode(location.hash)
  if (code !== undefined) location.replace(addressBefore)
  return code
}

const signInWithKeptToken = async (): Promise<void> => {
  const kept = tabStorage.get(storageKey)
  if (kept !== undefined && (await signIn(kept, { keepInTab: true })) === "refused")
    tabStorage.set(storageKey, undefined)
}

/** Signs in with the token that this tab has kept, or with the code of a link. */
export const startSession = async (): Promise<void> => {
  const code = takeCode("#/")
  await signInWithKeptToken()
  if (code !== undefined) await receiveCode(code)
  isStarting.value = false
}

// A link that is opened in a tab that shows the console changes only the fragment.
addEventListener("hashchange", ({ oldURL }) => {
  const code = takeCode(new URL(oldURL).hash || "#/")
  if (code !== undefined) void receiveCode(code)
})
