/**
 * Access to the console that is signed instead of stored, so that every process with the same secret can verify it: the
 * codes of links, and session tokens.
 */
import { Option, Schema } from "effect"
import { PrincipalShape } from "../access/Principal.ts"
import type { SecretBox } from "../crypto/SecretBox.ts"

const Grant = Schema.Struct({
  account: PrincipalShape.fields.account,
  access: PrincipalShape.fields.access,
  /** In milliseconds since 1970. */
  expiresAt: Schema.Int,
  /** 128 random bits, which identify the link. */
  nonce: Schema.String.pipe(Schema.check(Schema.isPattern(/^[\w-]{22}$/u)))
})
export type Grant = typeof Grant.Type

const GrantJson = Schema.fromJsonString(Grant)
const encodeGrant = Schema.encodeSync(GrantJson)
const decodeGrant = Schema.decodeUnknownOption(GrantJson)

/** Longer than any grant: the name of an account has at most 128 characters. */
export const maxGrantLength = 1_024

export interface GrantSigner {
  readonly sign: (grant: Grant) => string
  /** The grant of a text that `sign` made, if it has not expired. */
  readonly verify: (text: string, now: number) => Grant | undefined
}

/** The purpose is part of the signed text, so that a signature for one purpose is refused for every other. */
export const makeGrantSigner = (
  { sign, verifySignature }: SecretBox["Service"],
  purpose: "console-code" | "console-session"
): GrantSigner => {
  const toStringToSign = (payload: string): string => `${purpose} ${payload}`
  return {
    sign: (grant) => {
      const payload = Buffer.from(encodeGrant(grant)).toString("base64url")
      return `${payload}.${sign(toStringToSign(payload))}`
    },
    verify: (text, now) => {
      if (text.length > maxGrantLength) return undefined
      const [payload = "", signature = "", ...rest] = text.split(".")
      if (rest.length > 0 || !verifySignature(toStringToSign(payload), signature)) return undefined
      const grant = Option.getOrUndefined(decodeGrant(Buffer.from(payload, "base64url").toString()))
      return grant !== undefined && grant.expiresAt > now ? grant : undefined
    }
  }
}
