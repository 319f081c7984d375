/**
 * Tollgate with its console, and who may open it.
 */

import type { IDToken } from "openid-client"
import { createTollgate } from "tollgate"
import { adminConsole } from "tollgate/console"
import { MemoryStore } from "tollgate/memory"
import { createSignIn } from "./signIn.ts"

const readSetting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined || value === "") throw new Error(`Set the environment variable ${name}.`)
  return value
}
const publicUrl = readSetting("PUBLIC_URL") // such as https://example.com

export const gate = await createTollgate({
  store: MemoryStore.open(), // yours
  secret: readSetting("TOLLGATE_SECRET"),
  publicUrl: `${publicUrl}/api`,
  modules: [adminConsole()],
  authenticate: () => undefined // only through the console
})

interface Person {
  readonly name: string
  readonly role: "viewer" | "support" | "admin"
}

/** The groups of your provider, and the role of each. Of several, the first counts. */
const roles: ReadonlyArray<readonly [group: string, role: Person["role"]]> = [
  ["platform", "admin"],
  ["support", "support"],
  ["engineering", "viewer"]
]

const toPerson = ({ sub, email, groups }: IDToken): Person | undefined => {
  const [, role] = roles.find(([group]) => Array.isArray(groups) && groups.includes(group)) ?? []
  return role && { name: typeof email === "string" ? email : sub, role }
}

const openConsole = async ({ name, role }: Person): Promise<string> => {
  const { url } = await gate.createConsoleLink({ account: "acme", name, permissions: [role], expiresIn: 30 * 60_000 })
  return url
}

export const signIn = createSignIn({
  issuer: readSetting("OIDC_ISSUER"),
  clientId: readSetting("OIDC_CLIENT_ID"),
  clientSecret: readSetting("OIDC_CLIENT_SECRET"),
  callbackUrl: `${publicUrl}/sign-in/callback`,
  scope: "openid email groups",
  cookieSecret: readSetting("COOKIE_SECRET"),
  toPerson,
  openConsole,
  logError: (message) => console.error("Sign-in failed:", message)
})
