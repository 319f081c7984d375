/**
 * `@tollgate/tokens`: management tokens and sessions as a module of `createTollgate`, their services, schemas and errors.
 */

export { Credentials } from "./Credentials.ts"
export { CustomerSessions, type NewCustomerSession } from "./CustomerSessions.ts"
export { type NewSession, Sessions } from "./Sessions.ts"
export {
  CustomerSessionId,
  Session,
  SessionId,
  type SessionJson,
  type StoredCustomerSession,
  Token,
  TokenId,
  type TokenJson,
  type TokenWithValueJson
} from "./Token.ts"
export * from "./TokenError.ts"
export { Tokens } from "./Tokens.ts"
export type { SessionsMethods, TokensMethods } from "./TokensApi.ts"
export type { TokensOfAccount } from "./tokensDeclaration.ts"
export { type TokensModule, tokens } from "./tokensModule.ts"
