/**
 * Checks the documented interfaces of the promise API against the declarations. Nothing here exists at run time: a
 * missing method, a missing option, or a result of another type does not compile. Each area checks its own methods.
 */

import type { Entry } from "@tollgate/store/internal"
import type { Brand, DateTime, Schema } from "effect"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { OperationRequest, OperationResult } from "./Operations.ts"
import type { WithRateLimits } from "./withRateLimits.ts"

/** What a value is as plain JSON. */
export type Plain<T> = [Schema.Json] extends [T] ? T : PlainEach<T>
type PlainEach<T> = T extends DateTime.DateTime
  ? string
  : T extends string & Brand.Brand<string>
    ? string
    : T extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Plain<Item>>
      : T extends object
        ? { readonly [Key in keyof T]: Plain<T[Key]> }
        : T

type Result<E extends HttpApiEndpoint.Constraint> =
  OperationResult<E> extends Entry<infer Item>
    ? Plain<Item> & { readonly version: number }
    : OperationResult<E> extends WithRateLimits<infer Item>
      ? Plain<Item>
      : Plain<OperationResult<E>>

/** Parameters that a handle knows are not options. */
type HandleParameterName = "accountName" | "projectName"

type ParameterNames<Request, Part extends string> = Part extends keyof Request
  ? keyof NonNullable<Request[Part]>
  : never

type OptionNames<E extends HttpApiEndpoint.ConstraintRequest> =
  | Exclude<
      ParameterNames<OperationRequest<E>, "query"> | ParameterNames<OperationRequest<E>, "headers">,
      HandleParameterName
    >
  | "signal"

/** An option of every call that changes something. It is not a parameter of the operation. */
type CommonOptionName = "actor"

/** The options are the last argument. */
type LastArgument<Args extends ReadonlyArray<unknown>> =
  Required<Args> extends readonly [...infer _, infer Last] ? NonNullable<Last> : never

type AnyMethod = (...args: never) => PromiseLike<unknown>

/** `true`, or what is wrong. */
type CheckMethod<E extends HttpApiEndpoint.ConstraintRequest, M extends AnyMethod> =
  Exclude<OptionNames<E>, keyof LastArgument<Parameters<M>>> extends infer Missing
    ? [Missing] extends [never]
      ? [Exclude<keyof LastArgument<Parameters<M>>, OptionNames<E> | CommonOptionName>] extends [never]
        ? Result<E> extends Awaited<ReturnType<M>>
          ? true
          : { readonly resultShouldBe: Result<E> }
        : { readonly unknownOption: Exclude<keyof LastArgument<Parameters<M>>, OptionNames<E>> }
      : { readonly missingOption: Missing }
    : never

/** Methods that are written by hand, because they differ from the operation. */
type WrittenByHand = "verify" | "consume"

/** `true` for each method of an interface that fits the declaration of its operation. */
export type CheckMethods<Group extends HttpApiGroup.Constraint, Methods> = {
  readonly [Id in Exclude<keyof Group["endpoints"], WrittenByHand>]: Id extends keyof Methods
    ? Group["endpoints"][Id] extends HttpApiEndpoint.ConstraintRequest
      ? Methods[Id] extends AnyMethod
        ? CheckMethod<Group["endpoints"][Id], Methods[Id]>
        : "not a method"
      : never
    : "missing method"
}

/** Does not compile unless all methods fit. */
export type Expect<T extends Readonly<Record<string, true>>> = T
