/**
 * The server's settings, from its environment. A mistake is one clear line.
 */
import { resolve } from "node:path"

export interface Settings {
  readonly host: string
  readonly port: number
  readonly dataFolder: string
  /** `sqlite:PATH`, `memory:`, `redis://…` or `rediss://…`. */
  readonly store: string
  /** Newest first; made and kept in the data folder where none is given. */
  readonly secrets: ReadonlyArray<string> | undefined
  readonly tokens: ReadonlyArray<Token> | undefined
  /** The addresses as clients see them; the server's own, and a sandbox, where none is given. */
  readonly publicUrl: string | undefined
  /** `https://sites.example`, or `https://{name}.sites.example` for an origin for each deployment. */
  readonly sitesUrl: string | undefined
}

export interface Token {
  readonly token: string
  readonly account: string
  readonly access: "read" | "write"
}

export class SettingsError extends Error {
  override readonly name = "SettingsError"
}

type Environment = Readonly<Record<string, string | undefined>>

const parsePort = (text: string): number => {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new SettingsError(`PORT is a number from 0 to 65535, not "${text}"`)
}

const parseStore = (text: string): string => {
  if (/^(sqlite:.+|memory:|rediss?:\/\/.+)$/.test(text)) return text
  throw new SettingsError('TOLLGATE_STORE is "sqlite:PATH", "memory:", "redis://…" or "rediss://…"')
}

const parseSecrets = (text: string): ReadonlyArray<string> => {
  const secrets = text.split(",").map((secret) => secret.trim())
  if (secrets.every((secret) => secret.length >= 32)) return secrets
  throw new SettingsError("TOLLGATE_SECRET has at least 32 characters; several, newest first, are separated by commas")
}

const parseTokens = (text: string): ReadonlyArray<Token> =>
  text.split(",").map((part, index) => {
    const [token = "", account = "", access = "write", ...rest] = part.trim().split(":")
    if (token.length >= 16 && account !== "" && rest.length === 0 && (access === "read" || access === "write")) {
      return { token, account, access }
    }
    throw new SettingsError(
      `TOLLGATE_TOKENS: number ${index + 1} is not "token:account" or "token:account:read", with a token of at least 16 characters`
    )
  })

const parseUrl = (name: string, text: string): string => {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new SettingsError(`${name} is an address, such as https://example.com, not "${text}"`)
}

/** `{name}` as the first label gives each deployment a host of its own; the gate checks where it stands. */
const parseSitesUrl = (text: string): string => {
  parseUrl("TOLLGATE_SITES_URL", text.replace("{name}", "name"))
  return text
}

export const parseSettings = (environment: Environment): Settings => {
  const given = (name: string): string | undefined => environment[name]?.trim() || undefined
  const dataFolder = resolve(given("TOLLGATE_DATA") ?? "data")
  const [secrets, tokens] = [given("TOLLGATE_SECRET"), given("TOLLGATE_TOKENS")]
  const [publicUrl, sitesUrl] = [given("TOLLGATE_PUBLIC_URL"), given("TOLLGATE_SITES_URL")]
  return {
    host: given("HOST") ?? "127.0.0.1",
    port: parsePort(given("PORT") ?? "3000"),
    dataFolder,
    store: parseStore(given("TOLLGATE_STORE") ?? `sqlite:${resolve(dataFolder, "tollgate.db")}`),
    secrets: secrets === undefined ? undefined : parseSecrets(secrets),
    tokens: tokens === undefined ? undefined : parseTokens(tokens),
    publicUrl: publicUrl === undefined ? undefined : parseUrl("TOLLGATE_PUBLIC_URL", publicUrl),
    sitesUrl: sitesUrl === undefined ? undefined : parseSitesUrl(sitesUrl)
  }
}
