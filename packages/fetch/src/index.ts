/**
 * Routes that require an API key, wherever there is a `Request` and a `Response`, as in Hono and Next. The HTTP API
 * needs no binding there: mount `gate.handler`.
 */
export type {
  RateLimitRouteOptions,
  RequestConsumer,
  RequireApiKeyOptions,
  SettleRequest,
  SettlingConsumer
} from "@tollgate/protect"
export { type RateLimitResult, rateLimit } from "./rateLimit.ts"
export { type RequireApiKeyResult, requireApiKey } from "./requireApiKey.ts"
export { withApiKey } from "./withApiKey.ts"
