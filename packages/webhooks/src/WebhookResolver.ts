/**
 * Resolves the host names of webhooks to all their IPv4 and IPv6 addresses. Tests can replace it.
 */
import { Context, type Effect } from "effect"
import { makeDnsResolver } from "./makeDnsResolver.ts"
import { makeSystemResolver } from "./makeSystemResolver.ts"
import type { ResolutionError, ResolverBusy } from "./ResolutionError.ts"

export type ResolveHost = (host: string) => Effect.Effect<ReadonlyArray<string>, ResolutionError | ResolverBusy>

export interface WebhookResolverShape {
  /** For public names: asks the DNS only. */
  readonly resolvePublic: ResolveHost
  /** With private networks allowed: also reads the hosts file and the search domains, for names such as `localhost`. */
  readonly resolvePrivate: ResolveHost
}

export const WebhookResolver = Context.Reference<WebhookResolverShape>("@tollgate/webhooks/WebhookResolver", {
  defaultValue: () => ({ resolvePublic: makeDnsResolver(), resolvePrivate: makeSystemResolver() })
})
