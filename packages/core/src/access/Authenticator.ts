/**
 * The port by which a host says who is calling. Closed unless it is configured.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import type { TransportRequest } from "../runtime/Transport.ts"
import { AccountName } from "../schema/Names.ts"
import { parseBearer } from "./bearer.ts"
import { type PrincipalShape, Unauthorized } from "./Principal.ts"

/** Who asks; an Effect of the host's own. */
export type Authenticate = (request: Request) => Effect.Effect<PrincipalShape, Unauthorized>

type AuthenticateTransport = (asked: TransportRequest) => Effect.Effect<PrincipalShape, Unauthorized>

/** A token, whom it acts for (`*` is everybody), and what it may do; writing is the default. */
export interface BearerToken {
  readonly token: string
  readonly account: string
  readonly access?: "read" | "write"
}

const digest = (text: string): Buffer => hash("sha256", text, "buffer")

const shortestToken = 16

/** Tokens are kept as hashes, and every one is compared, in constant time. */
const bearerTokens = (tokens: ReadonlyArray<BearerToken>): Effect.Effect<AuthenticateTransport, ConfigurationError> =>
  Effect.gen(function* () {
    const known = yield* Effect.forEach(tokens, (given, index) => {
      const wrong = (problem: string) => new ConfigurationError({ option: `tokens: number ${index + 1}`, problem })
      const { token, access = "write" } = given
      if (typeof token !== "string" || token.length < shortestToken || /\s/.test(token)) {
        return wrong(`give a token of at least ${shortestToken} characters without white space`)
      }
      const account = given.account === "*" || Schema.is(AccountName)(given.account) ? given.account : undefined
      if (account === undefined) return wrong("name its account, by letters, digits, _, . and -, or * for all")
      if (access !== "read" && access !== "write") return wrong('give it the access "read" or "write"')
      if (tokens.findIndex((other) => other.token === token) < index)
        return wrong("it was given before; one token, once")
      const hash = digest(token)
      const principal: PrincipalShape = { id: hash.toString("base64url").slice(0, 16), account, access }
      return Effect.succeed({ hash, principal })
    })
    return authenticateBy(known)
  })

interface KnownToken {
  readonly hash: Buffer
  readonly principal: PrincipalShape
}

/** A function of its own, so that it keeps the hashes and not the tokens that they were made of. */
const authenticateBy =
  (known: ReadonlyArray<KnownToken>): AuthenticateTransport =>
  ({ headers }) => {
    const token = parseBearer(headers["authorization"])
    const hash = digest(token ?? "")
    let found: PrincipalShape | undefined
    for (const { hash: other, principal } of known) if (timingSafeEqual(hash, other)) found = principal
    return token === undefined || found === undefined ? Effect.fail(new Unauthorized()) : Effect.succeed(found)
  }

export class Authenticator extends Context.Service<Authenticator, { readonly authenticate: AuthenticateTransport }>()(
  "@tollgate/core/access/Authenticator"
) {
  /** Lets nobody in: what holds until a host configures something else. */
  static readonly layerClosed: Layer.Layer<Authenticator> = Layer.succeed(Authenticator, {
    authenticate: () => Effect.fail(new Unauthorized())
  })

  static layer(authenticate: Authenticate): Layer.Layer<Authenticator> {
    return Layer.succeed(Authenticator, { authenticate: ({ toWebRequest: request }) => authenticate(request()) })
  }

  static layerBearer(tokens: ReadonlyArray<BearerToken>): Layer.Layer<Authenticator, ConfigurationError> {
    const made = Effect.runSyncExit(Effect.map(bearerTokens(tokens), (authenticate) => ({ authenticate })))
    return Layer.effect(Authenticator, made)
  }
}
