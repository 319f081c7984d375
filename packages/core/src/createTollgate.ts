/**
 * Loads the services and the HTTP API when the first Tollgate is created, so that a module that needs only errors or types
 * is imported quickly.
 */
import { captureCaller, withCallerStack } from "@tollgate/store/internal"
import type { Module } from "./modules/Module.ts"
import type { Tollgate } from "./Tollgate.ts"
import type { TollgateOptions } from "./TollgateOptions.ts"

/**
 * Creates a Tollgate with a promise API. Rejects with a `ConfigurationError` if an option is invalid.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store: MemoryStore.open(), secret: process.env.TOLLGATE_SECRET })
 * const production = gate.account("acme").keyBucket("production")
 * const alice = await production.consumers.create({ name: "alice" }, { withApiKey: true })
 * const { valid } = await production.verify(alice.apiKeys[0].key)
 * await gate.close()
 * ```
 */
export const createTollgate = <const M extends Module = never>(options: TollgateOptions<M>): Promise<Tollgate<M>> =>
  withCallerStack(open(options) as Promise<Tollgate<M>>, captureCaller(createTollgate))

const open = async (options: TollgateOptions): Promise<Tollgate> => {
  const { openTollgate } = await import("./Tollgate.ts")
  return openTollgate(options)
}
