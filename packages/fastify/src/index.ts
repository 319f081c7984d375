/**
 * Tollgate for Fastify: the HTTP API as a plugin, and a hook that requires a valid API key and, with `metering`, counts
 * its use.
 */
export type { RequestConsumer, RequireApiKeyOptions } from "@tollgate/core/internal"
export { type ApiKeyHook, requireApiKey } from "./requireApiKey.ts"
export { type FastifyHandlerOptions, tollgate } from "./tollgate.ts"
