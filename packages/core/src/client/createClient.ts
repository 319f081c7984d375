/**
 * A client for a Tollgate in another process, with the same promise API as `createTollgate`, over HTTP.
 */
import { Effect } from "effect"
import { consumersPromise } from "../promises/consumersPromise.ts"
import { deploymentsPromise } from "../promises/deploymentsPromise.ts"
import { keysPromise } from "../promises/keysPromise.ts"
import {
  meteringBucketsPromise,
  plansPromise,
  subscriptionsPromise,
  usagePromise
} from "../promises/meteringPromise.ts"
import * as Options from "../runtime/Options.ts"
import { remoteServices } from "./remoteServices.ts"

export interface ClientOptions {
  /** The URL that the HTTP API is mounted at, such as `https://example.com/api/dev`. */
  readonly baseUrl: string
  readonly token: string
}

const isHttpUrl = (value: string): boolean => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)

const clientOptions = Options.struct<ClientOptions>()({
  baseUrl: Options.string("must be an HTTP(S) URL, such as https://example.com/api/dev", isHttpUrl),
  token: Options.string("must be a management token", (token) => token !== "")
})

/**
 * Creates a client that authenticates with a management token.
 *
 * @example
 * ```ts
 * const client = createClient({ baseUrl: "https://example.com/api/dev", token })
 * await client.consumers.create("acme", "production", { name: "alice" })
 * ```
 */
export const createClient = (options: ClientOptions) => {
  const { baseUrl, token } = Options.decodeSync(clientOptions, options)
  const services = Effect.runSync(remoteServices(baseUrl.replace(/\/$/, ""), token))
  return {
    consumers: consumersPromise(services.consumers),
    keys: keysPromise(services.keys),
    meteringBuckets: meteringBucketsPromise(services.meteringBuckets),
    plans: plansPromise(services.plans),
    subscriptions: subscriptionsPromise(services.subscriptions),
    usage: usagePromise(services.usage),
    deployments: deploymentsPromise(services.deployments, services.uploads)
  }
}

export type TollgateClient = ReturnType<typeof createClient>
