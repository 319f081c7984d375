/**
 * Authenticates HTTP callers. Until your application configures `tokens` or `authenticate`, every request is
 * unauthorized.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import type { TransportRequest } from "../runtime/Transport.ts"
import { AccountName } from "../schema/Names.ts"
import { Unauthorized } from "./AccessError.ts"
import type { PrincipalShape } from "./Principal.ts"
import { parseBearerToken } from "./parseBearerToken.ts"

/** A host's own way to authenticate a request. `context` is what the binding passed with it. */
export type Authenticate = (request: Request, context: unknown) => Effect.Effect<PrincipalShape, Unauthorized>

type AuthenticateTransport = (request: TransportRequest) => Effect.Effect<PrincipalShape, Unauthorized>

/** A management token, its account (`*` for all accounts) and its access (default: `write`). */
export interface BearerToken {
  readonly token: string
  readonly account: string
  readonly access?: "read" | "write"
}

const digest = (text: string): Buffer => hash("sha256", text, "buffer")

const minTokenLength = 16

/** Validates the tokens and keeps only their hashes. */
const hashTokens = (
  tokens: ReadonlyArray<BearerToken>
): Effect.Effect<ReadonlyArray<HashedToken>, ConfigurationError> =>
  Effect.forEach(tokens, (input, index) => {
    const invalid = (problem: string) => new ConfigurationError({ option: `tokens: number ${index + 1}`, problem })
    const { token, access = "write" } = input
    if (typeof token !== "string" || token.length < minTokenLength || /\s/.test(token)) {
      return invalid(`token must have at least ${minTokenLength} characters and no white space`)
    }
    const account = input.account === "*" || Schema.is(AccountName)(input.account) ? input.account : undefined
    if (account === undefined)
      return invalid('account must consist of letters, digits, "_", "." and "-", or be "*" for all accounts')
    if (access !== "read" && access !== "write") return invalid('access must be "read" or "write"')
    if (tokens.findIndex((other) => other.token === token) < index)
      return invalid("duplicate token; list each token once")
    const hash = digest(token)
    const principal: PrincipalShape = { id: hash.toString("base64url").slice(0, 16), account, access }
    return Effect.succeed({ hash, principal })
  })

interface HashedToken {
  readonly hash: Buffer
  readonly principal: PrincipalShape
}

/**
 * Compares with every hash in constant time, so that the duration says nothing about the tokens. It closes over the
 * hashes only: the plaintext tokens can be garbage-collected.
 */
const makeBearerAuthenticate =
  (hashedTokens: ReadonlyArray<HashedToken>): AuthenticateTransport =>
  ({ headers }) => {
    const token = parseBearerToken(headers["authorization"])
    const hash = digest(token ?? "")
    let match: PrincipalShape | undefined
    for (const { hash: other, principal } of hashedTokens) if (timingSafeEqual(hash, other)) match = principal
    return token === undefined || match === undefined ? Effect.fail(new Unauthorized()) : Effect.succeed(match)
  }

export class Authenticator extends Context.Service<Authenticator, { readonly authenticate: AuthenticateTransport }>()(
  "@tollgate/core/access/Authenticator"
) {
  /** Rejects every request: the default until your application configures authentication. */
  static readonly layerRejectAll: Layer.Layer<Authenticator> = Layer.succeed(Authenticator, {
    authenticate: () => Effect.fail(new Unauthorized())
  })

  static layer(authenticate: Authenticate): Layer.Layer<Authenticator> {
    return Layer.succeed(Authenticator, {
      authenticate: ({ toWebRequest, context }) => authenticate(toWebRequest(), context)
    })
  }

  static layerBearer(tokens: ReadonlyArray<BearerToken>): Layer.Layer<Authenticator, ConfigurationError> {
    // Evaluated now, so that the layer holds the hashes and not the tokens.
    const hashedTokens = Effect.runSyncExit(hashTokens(tokens))
    return Layer.effect(
      Authenticator,
      Effect.map(hashedTokens, (hashes) => ({ authenticate: makeBearerAuthenticate(hashes) }))
    )
  }
}
