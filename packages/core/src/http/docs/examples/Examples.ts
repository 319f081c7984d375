/**
 * The type of the examples: one of each body of each operation. An operation without an example does not compile.
 */

import type { Entry } from "@tollgate/store/internal"
import type { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import type { Plain } from "../../../api/checkMethods.ts"
import type { OperationResult } from "../../../api/Operations.ts"
import type { WithRateLimits } from "../../../api/withRateLimits.ts"

/** The JSON of a request body. An archive has none. */
type RequestJson<E extends HttpApiEndpoint.ConstraintRequest> = E["~Payload"] extends HttpApiSchema.StreamUint8Array
  ? never
  : E["~Payload"] extends { readonly Type: infer Payload }
    ? Plain<Payload>
    : never

type Body<Result> =
  Result extends Entry<infer Item> ? Item : Result extends WithRateLimits<infer Item> ? Item : Exclude<Result, void>

/** The JSON of the body of a successful response. */
type ResponseJson<E extends HttpApiEndpoint.Constraint> = Plain<Body<OperationResult<E>>>

type Part<Name extends string, Json> = [Json] extends [never] ? unknown : { readonly [Key in Name]: Json }

type Example<E> = E extends HttpApiEndpoint.ConstraintRequest & HttpApiEndpoint.Constraint
  ? Part<"request", RequestJson<E>> & Part<"response", ResponseJson<E>>
  : never

/** The examples of a group. Operations without bodies have none. */
export type GroupExamples<Group extends HttpApiGroup.Constraint> = {
  readonly [Id in keyof Group["endpoints"] as unknown extends Example<Group["endpoints"][Id]> ? never : Id]: Example<
    Group["endpoints"][Id]
  >
}
