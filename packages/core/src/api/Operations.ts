/**
 * Types computed from the declaration of an endpoint: the request, the result and the errors of its operation. A
 * service implements `Operations` of its group; HTTP and the promise API call them.
 */

import type { RecordUnreadable } from "@tollgate/store/internal"
import type { Effect, Schema } from "effect"
import type { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import type { commonErrors } from "./errors.ts"

type Typed<S> = S extends { readonly Type: infer T } ? T : never

type Part<Name extends string, T> = [T] extends [never] ? unknown : { readonly [Key in Name]: T }

/** A part that may be left out if all its fields are optional. */
type OptionalPart<Name extends string, T> = object extends T
  ? { readonly [Key in Name]?: T | undefined }
  : Part<Name, T>

/**
 * The request of an operation: the `params`, `query`, `headers` and `payload` of its endpoint, decoded. A part without
 * required fields may be left out.
 */
export type OperationRequest<E extends HttpApiEndpoint.ConstraintRequest> = Part<"params", Typed<E["~Params"]>> &
  OptionalPart<"query", Typed<E["~Query"]>> &
  OptionalPart<"headers", Typed<E["~Headers"]>> &
  Part<"payload", Typed<E["~Payload"]>>

/** The body of a response with declared headers, such as a `Location`, is the result; an empty body is not. */
type SuccessResult<S> =
  S extends HttpApiSchema.WithHeaders<infer Body extends Schema.Top, infer _> ? Exclude<Body["Type"], void> : Typed<S>

/** The result of an operation: the decoded body of the response. */
export type OperationResult<E extends HttpApiEndpoint.Constraint> = SuccessResult<E["~Success"]>

type CommonError = InstanceType<(typeof commonErrors)[number]> | RecordUnreadable

/** The errors of an operation: those of its endpoint, and those that every operation can fail with. */
export type OperationError<E extends HttpApiEndpoint.Constraint> = Typed<E["~Error"]> | CommonError

/** The operation of an endpoint: a function from its request to an effect. */
export type Operation<E> = E extends HttpApiEndpoint.ConstraintRequest
  ? (request: OperationRequest<E>) => Effect.Effect<OperationResult<E>, OperationError<E>>
  : never

type Endpoints<Group extends HttpApiGroup.Constraint> = Group["endpoints"]

/** The operations of a group. Those that `Methods` lists keep their documentation. */
export type Operations<Group extends HttpApiGroup.Constraint, Methods = object> = {
  readonly [Id in keyof Methods as Id extends keyof Endpoints<Group> ? Id : never]: Id extends keyof Endpoints<Group>
    ? Operation<Endpoints<Group>[Id]>
    : never
} & { readonly [Id in Exclude<keyof Endpoints<Group>, keyof Methods>]: Operation<Endpoints<Group>[Id]> }
