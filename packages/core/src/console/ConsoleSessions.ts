/**
 * Lets a browser into the console without typing a token: a link has a code that works once, and the console exchanges it
 * for a session token. Only used codes are stored, until they would have expired.
 */
import { Clock, Context, DateTime, Effect, Layer } from "effect"
import type { PrincipalShape } from "../access/Principal.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import { SecureRandom } from "../crypto/SecureRandom.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import * as Partition from "../store/Partition.ts"
import { Change, Store } from "../store/Store.ts"
import { StoreConflict, type StoreError } from "../store/StoreError.ts"
import { ConsoleCodeInvalid } from "./ConsoleError.ts"
import { makeGrantSigner } from "./signedGrant.ts"

const minuteMs = 60_000
const codeLifetimeMs = 5 * minuteMs
const sessionLifetimeMs = 60 * minuteMs
/** Longer than the lifetime of a code, because the clocks of the processes and of the store may differ. */
const usedCodeTtlMs = 60 * minuteMs

const tokenPrefix = "tgc_"
const nonceBytes = 16
/** How much of the nonce is in the id of the principal, which the audit log shows. */
const idLength = 12

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const codes = makeGrantSigner(secretBox, "console-code")
  const sessions = makeGrantSigner(secretBox, "console-session")

  /** Counts the use of a code. Of all attempts in all processes, the store accepts one. */
  const markUsed = (nonce: string) =>
    Effect.catchIf(
      store.commit(Partition.consoleCodes, [
        Change.Add({ counter: `used/${nonce}`, by: 1, max: 1, ttl: usedCodeTtlMs })
      ]),
      (error) => error instanceof StoreConflict && error.reason === "counter-exceeded",
      () => Effect.fail(new ConsoleCodeInvalid())
    )

  return ConsoleSessions.of({
    createCode: Effect.fnUntraced(function* ({ account, access }) {
      const expiresAt = (yield* Clock.currentTimeMillis) + codeLifetimeMs
      const nonce = Buffer.from((yield* SecureRandom).bytes(nonceBytes)).toString("base64url")
      return { code: codes.sign({ account, access, expiresAt, nonce }), expiresOn: DateTime.makeUnsafe(expiresAt) }
    }),

    exchange: Effect.fnUntraced(function* (code) {
      const now = yield* Clock.currentTimeMillis
      const grant = codes.verify(code, now)
      if (grant === undefined) return yield* new ConsoleCodeInvalid()
      yield* markUsed(grant.nonce)
      const expiresAt = now + sessionLifetimeMs
      return {
        token: `${tokenPrefix}${sessions.sign({ ...grant, expiresAt })}`,
        expiresOn: DateTime.makeUnsafe(expiresAt)
      }
    }, withSafeSpan("tollgate.console.exchange")),

    authenticate: (token) =>
      token.startsWith(tokenPrefix)
        ? Effect.map(Clock.currentTimeMillis, (now) => {
            const grant = sessions.verify(token.slice(tokenPrefix.length), now)
            if (grant === undefined) return undefined
            const { account, access, nonce } = grant
            return { id: `console-${nonce.slice(0, idLength)}`, account, access }
          })
        : noPrincipal
  })
})

const noPrincipal = Effect.succeed(undefined)

/** Creates links to the console, exchanges their codes for session tokens, and authenticates these tokens. */
export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    /** Creates the code of a link: it works once, within 5 minutes, in any process with the same store and secret. */
    readonly createCode: (
      access: Pick<PrincipalShape, "account" | "access">
    ) => Effect.Effect<{ readonly code: string; readonly expiresOn: DateTime.Utc }>
    /** Exchanges a code for a session token, which is valid for one hour. */
    readonly exchange: (
      code: string
    ) => Effect.Effect<{ readonly token: string; readonly expiresOn: DateTime.Utc }, ConsoleCodeInvalid | StoreError>
    /** The principal of a session token; `undefined` for every other token. */
    readonly authenticate: (token: string) => Effect.Effect<PrincipalShape | undefined>
  }
>()("@tollgate/core/console/ConsoleSessions") {
  static readonly layer = Layer.effect(ConsoleSessions, make)
}
