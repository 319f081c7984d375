/**
 * Authenticates HTTP callers. Until your application configures `tokens` or `authenticate`, every request is
 * unauthorized.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { Context, Effect, Exit, Layer } from "effect"
import type { ConfigurationError } from "../runtime/ConfigurationError.ts"
import * as Options from "../runtime/Options.ts"
import type { TransportRequest } from "../runtime/Transport.ts"
import { AccountName } from "../schema/Names.ts"
import { Unauthorized } from "./AccessError.ts"
import { type BearerToken, bearerTokens } from "./BearerToken.ts"
import type { PrincipalShape } from "./Principal.ts"
import { parseBearerToken } from "./parseBearerToken.ts"

/** A host's own way to authenticate a request. `context` is what the binding passed with it. */
export type Authenticate = (request: Request, context: unknown) => Effect.Effect<PrincipalShape, Unauthorized>

type AuthenticateTransport = (request: TransportRequest) => Effect.Effect<PrincipalShape, Unauthorized>

/** Asks for a string, because a buffer from native code takes twice as long as the hash. */
const digest = (text: string): Buffer => Buffer.from(hash("sha256", text, "binary"), "binary")

/** Keeps only the hashes of the tokens. */
const hashToken = ({ token, account, access = "write" }: BearerToken): HashedToken => {
  const hash = digest(token)
  const id = hash.toString("base64url").slice(0, 16)
  return { hash, principal: { id, account: account === "*" ? account : AccountName.make(account), access } }
}

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

/** Authenticates requests to the HTTP API: returns the principal of a request, or fails with `Unauthorized`. */
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
    const authenticate = Exit.map(Options.decode(bearerTokens, tokens, "tokens"), (tokens) =>
      makeBearerAuthenticate(tokens.map(hashToken))
    )
    return Layer.effect(
      Authenticator,
      Effect.map(authenticate, (authenticate) => ({ authenticate }))
    )
  }
}
