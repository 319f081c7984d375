/**
 * Reads the server's settings from environment variables. An invalid variable fails with one line that explains it.
 */
import { resolve } from "node:path"
import { isStore, storeForms } from "./openStore.ts"

export interface Settings {
  readonly host: string
  readonly port: number
  readonly dataFolder: string
  /** `sqlite:PATH`, `memory:`, `redis://…`, `rediss://…` or `postgres://…`. */
  readonly store: string
  /** Newest first. If undefined, the server creates a secret and keeps it in the data folder. */
  readonly secrets: ReadonlyArray<string> | undefined
  /** If undefined, the server creates a token and keeps it in the data folder. */
  readonly tokens: ReadonlyArray<Token> | undefined
  /** The URL as clients see it. If undefined, the URL that the server listens at. */
  readonly publicUrl: string | undefined
  /**
   * `https://sites.example`, or `https://{name}.sites.example` to give each deployment its own origin. If undefined,
   * sites are served below `publicUrl`, in a sandbox.
   */
  readonly sitesUrl: string | undefined
  /** Whether the start fills the demo account with 200 customers, unless it is filled already. */
  readonly isDemo: boolean
  /** Whether webhooks may be sent to private networks, and over http. */
  readonly allowPrivateWebhooks: boolean
}

export interface Token {
  readonly token: string
  readonly account: string
  readonly access?: "read" | "write"
  readonly permissions?: ReadonlyArray<string>
}

export class SettingsError extends Error {
  override readonly name = "SettingsError"
}

type Environment = Readonly<Record<string, string | undefined>>

const parsePort = (value: string): number => {
  const port = Number(value)
  if (/^\d+$/.test(value) && port <= 65_535) return port
  throw new SettingsError(`PORT must be a number from 0 to 65535, not "${value}"`)
}

const parseStore = (value: string): string => {
  if (isStore(value)) return value
  throw new SettingsError(`TOLLGATE_STORE must be ${storeForms}`)
}

const parseSecrets = (value: string): ReadonlyArray<string> => {
  const secrets = value.split(",").map((secret) => secret.trim())
  if (secrets.every((secret) => secret.length >= 32)) return secrets
  throw new SettingsError(
    "TOLLGATE_SECRET must have at least 32 characters; separate several secrets with commas, newest first"
  )
}

const parseTokens = (value: string): ReadonlyArray<Token> =>
  value.split(",").map((part, index) => {
    const [token = "", account = "", access = "write", ...rest] = part.trim().split(":")
    if (token.length >= 24 && account !== "" && rest.length === 0) {
      if (access === "admin") return { token, account, permissions: ["admin"] }
      if (access === "read" || access === "write") return { token, account, access }
    }
    throw new SettingsError(
      `TOLLGATE_TOKENS: entry ${index + 1} must be "token:account", or with ":read", ":write" or ":admin" after it, and a token of at least 24 characters`
    )
  })

const parseFlag = (name: string, value: string): boolean => {
  if (value === "true" || value === "false") return value === "true"
  throw new SettingsError(`${name} must be true or false, not "${value}"`)
}

const parseUrl = (name: string, value: string): string => {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value
  throw new SettingsError(`${name} must be a URL such as https://example.com, not "${value}"`)
}

/** Tollgate itself checks where `{name}` is. */
const parseSitesUrl = (value: string): string => {
  parseUrl("TOLLGATE_SITES_URL", value.replace("{name}", "name"))
  return value
}

export const parseSettings = (environment: Environment, args: ReadonlyArray<string> = []): Settings => {
  const unknown = args.find((argument) => argument !== "--demo")
  if (unknown !== undefined)
    throw new SettingsError(`Unknown argument ${unknown}. There is --demo, as in: npm start -- --demo`)
  const getVariable = (name: string): string | undefined => environment[name]?.trim() || undefined
  const dataFolder = resolve(getVariable("TOLLGATE_DATA") ?? "data")
  const [secrets, tokens] = [getVariable("TOLLGATE_SECRET"), getVariable("TOLLGATE_TOKENS")]
  const [publicUrl, sitesUrl] = [getVariable("TOLLGATE_PUBLIC_URL"), getVariable("TOLLGATE_SITES_URL")]
  return {
    host: getVariable("HOST") ?? "127.0.0.1",
    port: parsePort(getVariable("PORT") ?? "3000"),
    dataFolder,
    isDemo: args.includes("--demo"),
    store: parseStore(getVariable("TOLLGATE_STORE") ?? `sqlite:${resolve(dataFolder, "tollgate.db")}`),
    secrets: secrets === undefined ? undefined : parseSecrets(secrets),
    tokens: tokens === undefined ? undefined : parseTokens(tokens),
    publicUrl: publicUrl === undefined ? undefined : parseUrl("TOLLGATE_PUBLIC_URL", publicUrl),
    sitesUrl: sitesUrl === undefined ? undefined : parseSitesUrl(sitesUrl),
    allowPrivateWebhooks: parseFlag(
      "TOLLGATE_WEBHOOKS_ALLOW_PRIVATE",
      getVariable("TOLLGATE_WEBHOOKS_ALLOW_PRIVATE") ?? "false"
    )
  }
}
