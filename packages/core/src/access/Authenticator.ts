/**
 * Authenticates HTTP callers. Until your application configures `tokens` or `authenticate`, every request is
 * unauthorized.
 */
import { hash, timingSafeEqual } from "node:crypto"
import {
  AccountName,
  type ConfigurationError,
  Options,
  omitUndefined,
  SecretBox,
  type StoreError,
  type TransportRequest
} from "@tollgate/store/internal"
import { Context, Effect, Exit, Layer } from "effect"
import { Unauthorized } from "./AccessError.ts"
import { type BearerToken, bearerTokens } from "./BearerToken.ts"
import { type CallerShape, type PrincipalShape, toGrant } from "./Principal.ts"
import { parseBearerToken } from "./parseBearerToken.ts"

/** A host's own way to authenticate a request. `context` is what the binding passed with it. */
export type Authenticate = (request: Request, context: unknown) => Effect.Effect<PrincipalShape, Unauthorized>

type AuthenticateTransport = (request: TransportRequest) => Effect.Effect<CallerShape, Unauthorized | StoreError>

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
  ({ hash, account, name, ...given }: ReturnType<typeof hashToken>): HashedToken => {
    const id = secretBox.hashTokenId(hash).slice(0, idLength)
    const idempotencyScope = hash.toString("base64url").slice(0, idLength)
    const accountName: PrincipalShape["account"] = account === "*" ? account : AccountName.make(account)
    return { hash, principal: omitUndefined({ id, name, idempotencyScope, account: accountName, ...toGrant(given) }) }
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
