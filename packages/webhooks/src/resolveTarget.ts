/**
 * Decides to which addresses a webhook may be sent. Creation and every attempt use it, so that both apply one rule.
 */
import { isIP } from "node:net"
import { Effect, Schema } from "effect"
import { isGlobalAddress } from "./isGlobalAddress.ts"
import { getHost, parseWebhookUrl } from "./parseWebhookUrl.ts"
import { type ResolutionError, ResolutionFailed, type ResolverBusy } from "./ResolutionError.ts"
import { WebhookResolver } from "./WebhookResolver.ts"

const resolutionTimeoutMs = 5_000

/** One request tries the addresses in turn. More of them would make it a way to scan other networks. */
const maxAddresses = 32

export interface WebhookTarget {
  readonly url: URL
  /** The addresses that were checked. Connect to no other. */
  readonly addresses: ReadonlyArray<string>
}

/** `problem` ends a sentence for tenants. It names no address, because an internal one must not be revealed. */
export class TargetError extends Schema.TaggedError<TargetError>()("TargetError", {
  problem: Schema.String,
  /** The DNS gave no answer, so a later attempt can succeed. */
  isTemporary: Schema.Boolean
}) {}

const fail = (problem: string) => Effect.fail(new TargetError({ problem, isTemporary: false }))

const toTargetError = (host: string, { _tag }: ResolutionError): TargetError =>
  _tag === "HostNotFound"
    ? new TargetError({ problem: `the host "${host}" does not exist`, isTemporary: false })
    : new TargetError({ problem: `the host "${host}" could not be resolved`, isTemporary: true })

/** Waiting for other resolutions to end counts towards the timeout. */
const resolveHost = Effect.fnUntraced(function* (host: string, allowPrivateNetworks: boolean) {
  const { resolvePublic, resolvePrivate } = yield* WebhookResolver
  const resolve = allowPrivateNetworks ? resolvePrivate : resolvePublic
  return yield* resolve(host).pipe(
    Effect.timeoutOrElse({ duration: resolutionTimeoutMs, orElse: () => Effect.fail(new ResolutionFailed()) }),
    Effect.mapError((error) => (error._tag === "ResolverBusy" ? error : toTargetError(host, error)))
  )
})

/** Resolves the host of a URL once. Fails unless every address is public, or private networks are allowed. */
export const resolveTarget = Effect.fnUntraced(function* (
  text: string,
  allowPrivateNetworks: boolean
): Effect.fn.Return<WebhookTarget, TargetError | ResolverBusy> {
  const url = yield* Effect.fromResult(parseWebhookUrl(text, allowPrivateNetworks)).pipe(Effect.catch(fail))
  const host = getHost(url)
  if (isIP(host) !== 0) return { url, addresses: [host] }
  const addresses = yield* resolveHost(host, allowPrivateNetworks)
  if (addresses.length === 0) return yield* fail(`the host "${host}" has no address`)
  if (addresses.length > maxAddresses) return yield* fail(`the host "${host}" has more than ${maxAddresses} addresses`)
  if (!allowPrivateNetworks && !addresses.every(isGlobalAddress)) return yield* fail(`the host "${host}" is not public`)
  return { url, addresses }
})
