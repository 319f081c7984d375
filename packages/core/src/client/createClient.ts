/**
 * A client for a Tollgate in another process, with the same handles as `createTollgate`, over HTTP.
 */

import { Options, omitUndefined, throwFromCaller } from "@tollgate/store/internal"
import type { AccountsMethods } from "../accounts/AccountsApi.ts"
import type { AccessMethods } from "../api/AccessApi.ts"
import type { IdempotentCallOptions } from "../api/Methods.ts"
import { coreDeclaration, declareAll } from "../assembly/coreDeclaration.ts"
import { modulesOption } from "../assembly/modulesOption.ts"
import type { AuthorizeOptions } from "../authorize/AuthorizeOptions.ts"
import type { AuthorizeAnswerJson } from "../authorize/DecisionsApi.ts"
import { notVerified } from "../keys/Verification.ts"
import type { AccountOf, ClientModule } from "../modules/Module.ts"
import type { AccountHandle, KeyBucketHandle, VerifyOptions } from "../promises/handles.ts"
import { makeAccountHandles, makeAccountsMethods } from "../promises/makeHandles.ts"
import { makeMethods } from "../promises/makeMethods.ts"
import { makeRemoteOperations } from "./makeRemoteOperations.ts"

/** The options of `createClient`. */
export interface ClientOptions<M extends ClientModule = ClientModule> {
  /** The URL that the HTTP API is mounted at, such as `https://example.com/api/dev`. */
  readonly baseUrl: string
  /** A management token. */
  readonly token: string
  /** The modules of the server that the client uses, such as `webhooksClient` of `@tollgate/webhooks/client`. */
  readonly modules?: ReadonlyArray<M> | undefined
}

/** Paths are appended to the URL, so it has no query or fragment. A password in it would show up in errors. */
const isBaseUrl = (value: string): boolean => {
  if (!URL.canParse(value)) return false
  const { protocol, username, password, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === "" && !/[?#]/.test(value)
}

const clientOptions = Options.struct<ClientOptions>()({
  baseUrl: Options.string(
    "must be an HTTP(S) URL without credentials, query and fragment, such as https://example.com/api/dev",
    isBaseUrl
  ),
  token: Options.string("must be a management token", (token) => /^[\x21-\x7e]+$/.test(token)),
  modules: modulesOption<ClientModule>("webhooksClient of @tollgate/webhooks/client")
})

/** What `authorize` of a client requires besides a valid key, and what it counts. */
export type RemoteAuthorizeOptions = Omit<AuthorizeOptions, "rateLimit">

/** A key bucket of a Tollgate in another process. */
export interface RemoteKeyBucketHandle extends KeyBucketHandle {
  /**
   * Decides whether a request with this key is allowed, as one decision, and says what a protected route would have
   * answered: pass `status`, `headers` and `problem` on. With an `idempotencyKey`, a retry counts once.
   *
   * @example
   * ```ts
   * const client = createClient({ baseUrl: "https://example.com/api/dev", token })
   * const production = client.account("acme").keyBucket("production")
   * const { allowed, status } = await production.authorize(key, { scopes: ["orders:read"] })
   * ```
   */
  authorize(
    key: string | undefined,
    options?: RemoteAuthorizeOptions,
    callOptions?: IdempotentCallOptions
  ): Promise<AuthorizeAnswerJson>
}

/**
 * A client of the HTTP API. Its handles have the same methods as those of `createTollgate`.
 */
export interface TollgateClient<Account = unknown> extends AccessMethods {
  /** All accounts, for a token for all accounts. */
  readonly accounts: AccountsMethods
  /** The handle of an account. The token decides which accounts the client may use. Throws if the name is invalid. */
  account(name: string): AccountHandle<RemoteKeyBucketHandle> & Account
}

/** Whether JSON can carry the string unchanged. Any other string cannot be a key, so no request is needed. */
const isTransmittable = (key: unknown): key is string =>
  typeof key === "string" && key.isWellFormed() && !key.includes("\u0000")

/**
 * Creates a client that authenticates with a management token.
 *
 * @example
 * ```ts
 * const client = createClient({ baseUrl: "https://example.com/api/dev", token })
 * await client.account("acme").keyBucket("production").consumers.create({ name: "alice" })
 * ```
 */
export const createClient = <const M extends ClientModule = never>(
  options: ClientOptions<M>
): TollgateClient<AccountOf<M>> => {
  const {
    baseUrl,
    token,
    modules = []
  } = throwFromCaller(createClient, () => Options.decodeSync(clientOptions, options))
  const declared = declareAll(modules)
  const { descriptions } = declared
  const owned = Object.assign({}, ...[coreDeclaration, ...modules].map(({ owned = {} }) => owned))
  const call = makeRemoteOperations(declared, owned, baseUrl.replace(/\/+$/, ""), token)
  return {
    ...makeMethods(descriptions, call)<AccessMethods>("access", {}),
    accounts: makeAccountsMethods(descriptions, call),
    account: makeAccountHandles({
      descriptions,
      added: Object.assign({}, ...modules.map(({ account = {} }) => account)),
      call,
      actorProblem: "is possible only in process: over HTTP, the actor is the credential",
      makeKeyBucket: (handle, _names, { verify, authorize }) =>
        Object.assign(handle, {
          verify: (key: string | undefined, options?: VerifyOptions) =>
            isTransmittable(key)
              ? verify({ key, ...omitUndefined({ ip: options?.ip }) })
              : Promise.resolve(notVerified),
          authorize: (key: string | undefined, request?: RemoteAuthorizeOptions, options?: IdempotentCallOptions) =>
            authorize({ ...request, key: isTransmittable(key) ? key : "" }, options)
        })
    }) as TollgateClient<AccountOf<M>>["account"]
  }
}
