/**
 * Declares the operations on tokens and sessions. `Tokens.ts` and `Sessions.ts` implement them.
 */
import {
  AccountName,
  Area,
  Authenticated,
  bodyErrors,
  type CallOptions,
  type CheckMethods,
  type ConditionalCallOptions,
  type Expect,
  Forbidden,
  type IdempotentCallOptions,
  type Input,
  InvalidInput,
  idempotencyErrors,
  idempotencyKeyHeader,
  ifMatchHeader,
  LimitReached,
  noQuery,
  Owner,
  Page,
  type PageOptions,
  type PagePromise,
  page,
  parameters,
  type Versioned,
  VersionMismatch,
  type WriteCallOptions,
  withVersion
} from "@tollgate/core/module"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Session,
  type SessionJson,
  Token,
  TokenCreate,
  type TokenJson,
  TokenUpdate,
  TokenWithValue,
  type TokenWithValueJson
} from "./Token.ts"
import { SessionNotFound, TokenNotFound } from "./TokenError.ts"

const accountParams = { accountName: AccountName }
const tokenParams = { ...accountParams, tokenId: Schema.String }
const tokensPath = "/accounts/:accountName/tokens"
const tokenPath = `${tokensPath}/:tokenId` as const

export class TokensApi extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.get("list", tokensPath, {
      params: accountParams,
      query: parameters(page),
      success: Page(Token)
    })
      .annotate(OpenApi.Summary, "List tokens")
      .annotate(
        OpenApi.Description,
        "Returns the tokens of the account, oldest first, without their values. Those in the options of the server are not among them."
      ),
    HttpApiEndpoint.post("create", tokensPath, {
      params: accountParams,
      headers: idempotencyKeyHeader,
      payload: TokenCreate,
      success: withVersion(TokenWithValue),
      error: [Forbidden, InvalidInput, LimitReached, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Create a token, and show its value once")
      .annotate(
        OpenApi.Description,
        "`permissions` are permissions or roles; a caller cannot grant what it lacks itself, and gets 403. The response " +
          "contains the value, `token`; no later response contains it. Without `expiresOn` the token does not expire. An account has at most 100 tokens by default; another one gets 409."
      ),
    HttpApiEndpoint.get("get", tokenPath, {
      params: tokenParams,
      success: withVersion(Token),
      error: [TokenNotFound]
    })
      .annotate(OpenApi.Summary, "Get a token")
      .annotate(
        OpenApi.Description,
        "The value is not in the response. `lastUsedOn` is precise to the minute, and written up to 15 seconds late."
      ),
    HttpApiEndpoint.patch("update", tokenPath, {
      params: tokenParams,
      query: noQuery,
      headers: ifMatchHeader,
      payload: TokenUpdate,
      success: withVersion(Token),
      error: [Forbidden, InvalidInput, TokenNotFound, VersionMismatch, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Update a token")
      .annotate(
        OpenApi.Description,
        "Fields that are not in the body stay unchanged, and `null` clears the expiry. All processes heed the change " +
          "within a second. A caller cannot change a token that may do more than itself, before or after the change, and gets 403. With `If-Match`, a token that has changed since gets 412."
      ),
    HttpApiEndpoint.delete("remove", tokenPath, {
      params: tokenParams,
      query: noQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [TokenNotFound, VersionMismatch]
    })
      .annotate(OpenApi.Summary, "Delete a token")
      .annotate(
        OpenApi.Description,
        "All processes refuse it within a second. With `If-Match`, a token that has changed since gets 412."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "tokens")
  .annotate(Owner, "account")
  .annotateMerge(
    OpenApi.annotations({
      title: "Tokens",
      description: "Management tokens of an account, which are created while the server runs."
    })
  ) {}

const revoked = "All processes refuse its token within a second."
const revokedAll = "Also ends links that were not used yet. All processes refuse the tokens within a second."

export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/accounts/:accountName/sessions", {
      params: accountParams,
      query: parameters(page),
      success: Page(Session)
    })
      .annotate(OpenApi.Summary, "List sessions")
      .annotate(
        OpenApi.Description,
        "Returns the sessions of people in the console for this account, oldest first, until an hour after their end."
      ),
    HttpApiEndpoint.delete("remove", "/accounts/:accountName/sessions/:sessionId", {
      params: { ...accountParams, sessionId: Schema.String },
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [SessionNotFound]
    })
      .annotate(OpenApi.Summary, "Revoke a session")
      .annotate(OpenApi.Description, revoked),
    HttpApiEndpoint.delete("removeAll", "/accounts/:accountName/sessions", {
      params: accountParams,
      query: noQuery,
      success: HttpApiSchema.NoContent
    })
      .annotate(OpenApi.Summary, "Revoke all sessions of an account")
      .annotate(OpenApi.Description, revokedAll)
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "tokens")
  .annotate(Owner, "account")
  .annotateMerge(OpenApi.annotations({ title: "Sessions", description: "Sessions of people in the console." })) {}

export class AllSessionsApi extends HttpApiGroup.make("allSessions")
  .add(
    HttpApiEndpoint.get("list", "/sessions", { query: parameters(page), success: Page(Session) })
      .annotate(OpenApi.Summary, "List sessions for all accounts")
      .annotate(
        OpenApi.Description,
        "Returns the sessions that are for all accounts, oldest first, until an hour after their end."
      ),
    HttpApiEndpoint.delete("remove", "/sessions/:sessionId", {
      params: { sessionId: Schema.String },
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [SessionNotFound]
    })
      .annotate(OpenApi.Summary, "Revoke a session for all accounts")
      .annotate(OpenApi.Description, revoked),
    HttpApiEndpoint.delete("removeAll", "/sessions", { query: noQuery, success: HttpApiSchema.NoContent })
      .annotate(OpenApi.Summary, "Revoke all sessions that are for all accounts")
      .annotate(OpenApi.Description, revokedAll)
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "tokens")
  .annotate(Owner, "all-accounts")
  .annotateMerge(
    OpenApi.annotations({
      title: "Sessions for all accounts",
      description: "Sessions of people in the console that are for all accounts."
    })
  ) {}

/** The management tokens of an account that are created while the server runs. */
export interface TokensMethods {
  /** Returns a page of tokens, oldest first. Iterate over it to get all pages. */
  list(options?: PageOptions): PagePromise<TokenJson>
  /** Creates a token. The result contains its value, which is never shown again. */
  create(input: Input<typeof TokenCreate>, options?: IdempotentCallOptions): Promise<Versioned<TokenWithValueJson>>
  /** Returns a token. */
  get(tokenId: string, options?: CallOptions): Promise<Versioned<TokenJson>>
  /** Updates a token. All processes heed the change within a second. */
  update(
    tokenId: string,
    patch: Input<typeof TokenUpdate>,
    options?: ConditionalCallOptions
  ): Promise<Versioned<TokenJson>>
  /** Removes a token. All processes refuse it within a second. */
  remove(tokenId: string, options?: ConditionalCallOptions): Promise<void>
}

/** Sessions of people in the console. */
export interface SessionsMethods {
  /** Returns a page of sessions, oldest first. Iterate over it to get all pages. */
  list(options?: PageOptions): PagePromise<SessionJson>
  /** Revokes a session. All processes refuse its token within a second. */
  remove(sessionId: string, options?: WriteCallOptions): Promise<void>
  /** Revokes all sessions, and links that were not used yet. */
  removeAll(options?: WriteCallOptions): Promise<void>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<
  CheckMethods<typeof TokensApi, TokensMethods> & CheckMethods<typeof SessionsApi, SessionsMethods>
>
