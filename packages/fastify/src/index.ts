/**
 * Tollgate for Fastify: the HTTP API as a plugin, and a hook that requires a valid API key and, with `metering`, counts
 * its use.
 */
export type {
  RateLimitRouteOptions,
  RequestConsumer,
  RequireApiKeyOptions,
  SettleRequest,
  SettlingConsumer
} from "@tollgate/protect"
export { type ApiKeyHook, rateLimit, requireApiKey } from "./requireApiKey.ts"
export { type FastifyHandlerOptions, tollgate } from "./tollgate.ts"
