/**
 * A client for a Tollgate in another process, with the same handles as `createTollgate`, over HTTP.
 */
import type { AccountsMethods } from "../accounts/AccountsApi.ts"
import type { AccessMethods } from "../api/AccessApi.ts"
import { toSourceStream } from "../deployments/uploads/sourceStream.ts"
import { notVerified } from "../keys/Verification.ts"
import { descriptions } from "../operations/AllOperations.ts"
import type { AccountHandle } from "../promises/handles.ts"
import { makeAccountHandles, makeAccountsMethods } from "../promises/makeHandles.ts"
import { makeMethods } from "../promises/makeMethods.ts"
import * as Options from "../runtime/Options.ts"
import { makeRemoteOperations } from "./makeRemoteOperations.ts"

/** The options of `createClient`. */
export interface ClientOptions {
  /** The URL that the HTTP API is mounted at, such as `https://example.com/api/dev`. */
  readonly baseUrl: string
  /** A management token. */
  readonly token: string
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
  token: Options.string("must be a management token", (token) => /^[\x21-\x7e]+$/.test(token))
})

/**
 * A client of the HTTP API. Its handles have the same methods as those of `createTollgate`, except those that need the
 * process of the server, such as `authorize`.
 */
export interface TollgateClient extends AccessMethods {
  /** All accounts, for a token for all accounts. */
  readonly accounts: AccountsMethods
  /** The handle of an account. The token decides which accounts the client may use. Throws if the name is invalid. */
  account(name: string): AccountHandle
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
export const createClient = (options: ClientOptions): TollgateClient => {
  const { baseUrl, token } = Options.decodeSync(clientOptions, options)
  const { call, upload } = makeRemoteOperations(baseUrl.replace(/\/+$/, ""), token)
  return {
    ...makeMethods<AccessMethods>(descriptions, "access", call, {}),
    accounts: makeAccountsMethods(call),
    account: makeAccountHandles({
      call,
      actorProblem: "is possible only in process: over HTTP, the actor is the credential",
      makeKeyBucket: (handle, _names, verify) =>
        Object.assign(handle, {
          verify: (key: string | undefined) => (isTransmittable(key) ? verify({ key }) : Promise.resolve(notVerified))
        }),
      upload: (url, source) => upload(url, toSourceStream(source))
    })
  }
}
