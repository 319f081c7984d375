/**
 * `@tollgate/protect`: what the bindings for frameworks share. It may change in any release.
 */
export {
  type AuthorizeRequest,
  type AuthorizeRequestResult,
  makeAuthorizeRequest,
  type RequestConsumer,
  type RequestLike,
  type SettlingConsumer
} from "./authorizeRequest.ts"
export { isHandled } from "./isHandled.ts"
export { makeLimitRequest, type RateLimitRouteOptions } from "./limitRequest.ts"
export type { RefusedDecision, RefusedResponse, RequireApiKeyOptions } from "./RequireApiKeyOptions.ts"
export { readHeader, readQueryParameter } from "./readRequest.ts"
export type { SettleRequest } from "./settleRequest.ts"
export { watchNodeResponse } from "./watchNodeResponse.ts"
