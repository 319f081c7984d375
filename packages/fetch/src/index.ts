/**
 * Routes that require an API key, wherever there is a `Request` and a `Response`, as in Hono and Next. The HTTP API
 * needs no binding there: mount `gate.handler`.
 */
export type { RequestConsumer, RequireApiKeyOptions } from "@tollgate/core/internal"
export { type RequireApiKeyResult, requireApiKey } from "./requireApiKey.ts"
export { withApiKey } from "./withApiKey.ts"
