/**
 * `@tollgate/tokens/client`: tokens and sessions for `createClient`.
 */

export type { SessionJson, TokenJson, TokenWithValueJson } from "./Token.ts"
export * from "./TokenError.ts"
export type { SessionsMethods, TokensMethods } from "./TokensApi.ts"
export { type TokensOfAccount, tokensClient } from "./tokensDeclaration.ts"
