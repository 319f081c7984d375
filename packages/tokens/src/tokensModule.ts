import { acceptBearer, defineModule, KeyUse, type Module, TrustedClock } from "@tollgate/core/module"
import { Effect, Layer } from "effect"
import { Credentials } from "./Credentials.ts"
import { CustomerSessions } from "./CustomerSessions.ts"
import { Sessions } from "./Sessions.ts"
import { searchTokens } from "./searchTokens.ts"
import { Tokens } from "./Tokens.ts"
import { allSessionsExamples, sessionExamples, tokenExamples } from "./tokenExamples.ts"
import { tokenLimits } from "./tokenLimits.ts"
import { type TokensOfAccount, tokensClient } from "./tokensDeclaration.ts"

// Here, because declarations of the package refer to this file.
declare module "@tollgate/core/module" {
  interface LimitsShape {
    readonly tokensPerAccount: number
    readonly sessionsPerAccount: number
    readonly customerSessionsPerAccount: number
  }
}

/** Tokens and sessions, as a module: what `tokens` returns. */
export type TokensModule = Module<TokensOfAccount, object, Tokens | Sessions | CustomerSessions | Credentials>

/**
 * Management tokens that are created, changed and revoked while the server runs, and the sessions of the console.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, modules: [tokens()] })
 * const { token } = await gate.account("acme").tokens.create({ description: "CI", permissions: ["deployments:write"] })
 * ```
 */
export const tokens = (): TokensModule =>
  defineModule({
    ...tokensClient,
    limits: tokenLimits,
    layer: Layer.mergeAll(Tokens.layer, Sessions.layer, CustomerSessions.layer).pipe(
      Layer.provideMerge(Credentials.layer),
      Layer.provide([KeyUse.layer, TrustedClock.layer])
    ),
    operations: Effect.gen(function* () {
      const sessions = yield* Sessions
      return { tokens: yield* Tokens, sessions, allSessions: sessions.ofAllAccounts }
    }),
    search: searchTokens,
    examples: { tokens: tokenExamples, sessions: sessionExamples, allSessions: allSessionsExamples },
    acceptCredentials: Effect.map(Credentials, ({ authenticate }) => acceptBearer(authenticate)),
    reencrypt: Effect.flatMap(Credentials, ({ reencrypt }) => reencrypt)
  })
