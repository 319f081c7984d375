import { acceptBearer, defineModule, KeyUse, type Module, Options, TrustedClock } from "@tollgate/core/module"
import { DecisionLog, type DecisionsOfAccount, decisions } from "@tollgate/decisions"
import { type TokensOfAccount, tokens } from "@tollgate/tokens"
import { Effect, Layer } from "effect"
import { Portal } from "./Portal.ts"
import { PortalSessions } from "./PortalSessions.ts"
import { makePortalRoutes } from "./page.ts"
import { type PortalOfAccount, portalClient } from "./portalDeclaration.ts"
import { portalExamples, portalSessionExamples } from "./portalExamples.ts"
import { type PortalOptions, portalOptions } from "./portalOptions.ts"

/** The portal, as a module: what `customerPortal` returns. Its sessions are kept by `@tollgate/tokens`. */
export type PortalModule = Module<
  PortalOfAccount & TokensOfAccount & DecisionsOfAccount,
  object,
  Portal | PortalSessions
>

/**
 * Serves a portal at `/portal/`, in which your customers manage their keys and see their usage, quotas and plan.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, modules: [customerPortal({ name: "Acme", meteringBucket: "billing" })] })
 * const { url } = await gate.account("acme").portalSessions.create("production", "alice", { name: "alice@example.com" })
 * ```
 */
export const customerPortal = (options: PortalOptions = {}): PortalModule => {
  const decoded = Options.decodeSync(portalOptions, options, "customerPortal")
  const { name, logo, color, texts, returnUrl } = decoded
  return defineModule({
    ...portalClient,
    needs: [tokens(), decisions()],
    layer: Portal.layer(decoded).pipe(
      Layer.provideMerge(PortalSessions.layer),
      Layer.provide(DecisionLog.layer),
      Layer.provide([KeyUse.layer, TrustedClock.layer])
    ),
    operations: Effect.gen(function* () {
      return { portalSessions: yield* PortalSessions, portal: yield* Portal }
    }),
    examples: { portalSessions: portalSessionExamples, portal: portalExamples },
    routes: Effect.succeed(makePortalRoutes({ name, logo, color, texts, returnUrl })),
    acceptCredentials: Effect.map(PortalSessions, ({ authenticate }) => acceptBearer(authenticate))
  })
}
