/**
 * The middleware that endpoints declare when a caller must be authenticated; the OpenAPI description shows it.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import type { Principal } from "../access/Principal.ts"
import { commonProblems, ForbiddenProblem, UnauthorizedProblem } from "./problems.ts"

/** Marks an endpoint that changes nothing although its method is not GET. */
export const IsReadOnly = Context.Reference<boolean>("@tollgate/core/api/IsReadOnly", { defaultValue: () => false })

export class Authenticated extends HttpApiMiddleware.Service<Authenticated, { provides: Principal }>()(
  "@tollgate/core/api/Authenticated",
  {
    security: { bearer: HttpApiSecurity.bearer },
    error: [UnauthorizedProblem, ForbiddenProblem, ...commonProblems]
  }
) {}
