/**
 * `@tollgate/core/client`: the client for a Tollgate in another process, the JSON that it returns and the errors that it
 * throws.
 */

export * from "./allErrors.ts"
export type { CallerJson } from "./api/AccessApi.ts"
export type { AuthorizeAnswerJson } from "./authorize/DecisionsApi.ts"
export {
  type ClientOptions,
  createClient,
  type RemoteAuthorizeOptions,
  type RemoteKeyBucketHandle,
  type TollgateClient
} from "./client/createClient.ts"
export { ServerUnreachable } from "./client/ServerUnreachable.ts"
export * from "./handleTypes.ts"
