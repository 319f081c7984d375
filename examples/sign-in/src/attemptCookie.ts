/**
 * Keeps an attempt to sign in between its start and its callback, in a signed cookie of the browser that began it.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

export interface Attempt {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  readonly expiresOn: number
}

export const attemptMs = 10 * 60_000

export const makeAttemptCookie = (secret: string, isSecure: boolean) => {
  if (secret.length < 32) throw new Error("The secret of the cookies must have at least 32 characters.")
  // With this prefix, browsers take the cookie from this host over https only, not from a subdomain.
  const name = isSecure ? "__Host-sign-in" : "sign-in"
  // Lax, because the provider's redirect is a navigation from another site, for which browsers hold Strict cookies back.
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`
  const sign = (text: string): Buffer => createHmac("sha256", secret).update(text).digest()

  return {
    create: (attempt: Attempt): string => {
      const text = Buffer.from(JSON.stringify(attempt)).toString("base64url")
      return `${name}=${text}.${sign(text).toString("base64url")}; Max-Age=${attemptMs / 1_000}; ${attributes}`
    },
    clear: `${name}=; Max-Age=0; ${attributes}`,
    read: ({ headers }: IncomingMessage): Attempt | undefined => {
      const cookie = headers.cookie?.split("; ").find((pair) => pair.startsWith(`${name}=`))
      const [text = "", signature = ""] = cookie?.slice(name.length + 1).split(".") ?? []
      const [expected, actual] = [sign(text), Buffer.from(signature, "base64url")]
      if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
      const attempt: Attempt = JSON.parse(Buffer.from(text, "base64url").toString())
      return attempt.expiresOn > Date.now() ? attempt : undefined
    }
  }
}
