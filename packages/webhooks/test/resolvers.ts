import { Effect } from "effect"
import type { ResolutionError } from "../src/ResolutionError.ts"
import { WebhookResolver } from "../src/WebhookResolver.ts"

export type DnsAnswer = ReadonlyArray<string> | ResolutionError

/** A resolver that gives each answer once, and then the last one again. `hosts` are the names it was asked for. */
export const makeResolver = (...answers: readonly [DnsAnswer, ...ReadonlyArray<DnsAnswer>]) => {
  const hosts: Array<string> = []
  const resolve = (host: string) =>
    Effect.suspend(() => {
      const answer = answers[hosts.length] ?? answers.at(-1) ?? []
      hosts.push(host)
      return answer instanceof Error ? Effect.fail(answer) : Effect.succeed(answer)
    })
  return { hosts, provide: Effect.provideService(WebhookResolver, { resolvePublic: resolve, resolvePrivate: resolve }) }
}

/** A resolver that never answers. */
export const provideSilentResolver = Effect.provideService(WebhookResolver, {
  resolvePublic: () => Effect.never,
  resolvePrivate: () => Effect.never
})
