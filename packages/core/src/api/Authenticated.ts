/**
 * The middleware of endpoints that require authentication. The OpenAPI description lists it as their security scheme.
 */
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { Forbidden, Unauthorized } from "../access/AccessError.ts"
import type { Principal } from "../access/Principal.ts"
import { commonErrors } from "./errors.ts"

/**
 * The middleware of endpoints that require authentication. It provides the `Principal`, or fails with `Unauthorized` or
 * `Forbidden`.
 */
export class Authenticated extends HttpApiMiddleware.Service<Authenticated, { provides: Principal }>()(
  "@tollgate/core/api/Authenticated",
  {
    security: { bearer: HttpApiSecurity.bearer },
    error: [Unauthorized, Forbidden, ...commonErrors]
  }
) {}
