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
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import { remoteServices } from "./remoteServices.ts"

export interface ClientOptions {
  /** The URL that the HTTP API is mounted at, such as `https://example.com/api/dev`. */
  readonly baseUrl: string
  readonly token: string
}

/**
 * Creates a client that authenticates with a management token.
 *
 * @example
 * ```ts
 * const client = createClient({ baseUrl: "https://example.com/api/dev", token })
 * await client.consumers.create("acme", "production", { name: "alice" })
 * ```
 */
export const createClient = ({ baseUrl, token }: ClientOptions) => {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new ConfigurationError({
      option: "baseUrl",
      problem: "must be an HTTP(S) URL, such as https://example.com/api/dev"
    })
  }
  if (typeof token !== "string" || token === "") {
    throw new ConfigurationError({ option: "token", problem: "must be a management token" })
  }
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
