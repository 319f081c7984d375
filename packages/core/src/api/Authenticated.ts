/**
 * The middleware of endpoints that require authentication. The OpenAPI description lists it as their security scheme.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import type { Principal } from "../access/Principal.ts"
import { commonProblems, ForbiddenProblem, UnauthorizedProblem } from "./problems.ts"

/** Marks an endpoint as read-only although its method is not GET, so that read-only credentials may call it. */
export const IsReadOnly = Context.Reference<boolean>("@tollgate/core/api/IsReadOnly", { defaultValue: () => false })

export class Authenticated extends HttpApiMiddleware.Service<Authenticated, { provides: Principal }>()(
  "@tollgate/core/api/Authenticated",
  {
    security: { bearer: HttpApiSecurity.bearer },
    error: [UnauthorizedProblem, ForbiddenProblem, ...commonProblems]
  }
) {}
