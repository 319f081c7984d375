/**
 * Authenticates HTTP callers. Until your application configures `tokens` or `authenticate`, every request is
 * unauthorized.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { Context, Effect, Exit, Layer } from "effect"
import { SecretBox } from "../crypto/SecretBox.ts"
import type { ConfigurationError } from "../runtime/ConfigurationError.ts"
import * as Options from "../runtime/Options.ts"
import type { TransportRequest } from "../runtime/Transport.ts"
import { AccountName } from "../schema/Names.ts"
import { Unauthorized } from "./AccessError.ts"
import { type BearerToken, bearerTokens } from "./BearerToken.ts"
import type { CallerShape, PrincipalShape } from "./Principal.ts"
import { parseBearerToken } from "./parseBearerToken.ts"

/** A host's own way to authenticate a request. `context` is what the binding passed with it. */
export type Authenticate = (request: Request, context: unknown) => Effect.Effect<PrincipalShape, Unauthorized>

type AuthenticateTransport = (request: TransportRequest) => Effect.Effect<CallerShape, Unauthorized>

/** Asks for a string, because a buffer from native code takes twice as long as the hash. */
const digest = (text: string): Buffer => Buffer.from(hash("sha256", text, "binary"), "binary")

interface HashedToken {
  readonly hash: Buffer
  readonly principal: CallerShape
}

/** Keeps only the hashes of the tokens. */
const hashToken = ({ token, ...rest }: BearerToken) => ({ hash: digest(token), ...rest })

const idLength = 16

/**
 * Tenants see the id as the actor of events, so it is a keyed hash. It changes with the secret, but what a repeated request
 * is found by must not.
 */
const addPrincipal =
  (secretBox: SecretBox["Service"]) =>
  ({ hash, account, access = "write" }: ReturnType<typeof hashToken>): HashedToken => {
    const id = secretBox.hashTokenId(hash).slice(0, idLength)
    const idempotencyScope = hash.toString("base64url").slice(0, idLength)
    const accountName = account === "*" ? account : AccountName.make(account)
    return { hash, principal: { id, idempotencyScope, account: accountName, access } }
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
    let match: CallerShape | undefined
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

  /** Accepts management tokens. The ids of their principals depend on the secret. */
  static layerBearer(tokens: ReadonlyArray<BearerToken>): Layer.Layer<Authenticator, ConfigurationError, SecretBox> {
    // Evaluated now, so that the layer holds the hashes and not the tokens.
    const hashedTokens = Exit.map(Options.decode(bearerTokens, tokens, "tokens"), (tokens) => tokens.map(hashToken))
    return Layer.effect(
      Authenticator,
      Effect.zipWith(hashedTokens, SecretBox, (tokens, secretBox) => ({
        authenticate: makeBearerAuthenticate(tokens.map(addPrincipal(secretBox)))
      }))
    )
  }
}
