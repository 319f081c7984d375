/**
 * Whose access token a request has. Zudoku sends the one that the person got when signing in.
 */
import type { Request } from "express"
import { createRemoteJWKSet, errors, jwtVerify } from "jose"

export interface ProviderOptions {
  readonly issuer: string
  /** The `audience` of the `authentication` of Zudoku: a token for another API of the provider is refused. */
  readonly audience: string
  /** The `jwks_uri` of the provider. */
  readonly jwksUrl: string
}

export const makeFindUser = ({ issuer, audience, jwksUrl }: ProviderOptions) => {
  const keys = createRemoteJWKSet(new URL(jwksUrl))
  return async ({ headers }: Request): Promise<string | undefined> => {
    const [, token = ""] = /^Bearer (\S+)$/i.exec(headers.authorization ?? "") ?? []
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, audience })
      return payload.sub
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined
      throw error // the provider does not respond
    }
  }
}
