/**
 * Types of the endpoint handlers, derived from the endpoint declarations: decoded request in, response body out.
 */
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Principal } from "../access/Principal.ts"
import type { Api } from "./Api.ts"
import type { RequestContext } from "./RequestContext.ts"

type Groups = (typeof Api)["groups"]
type GroupName = keyof Groups & string
type EndpointsOf<Name extends GroupName> = Groups[Name] extends HttpApiGroup.Constraint
  ? Groups[Name]["endpoints"]
  : never

/** The decoded parts of the request that an endpoint declares: params, query, headers, payload. */
type EndpointInput<Endpoint extends HttpApiEndpoint.Constraint> = Omit<
  HttpApiEndpoint.Request<Endpoint>,
  "request" | "endpoint" | "group"
>

type Handler<Endpoint extends HttpApiEndpoint.Constraint> = (
  input: EndpointInput<Endpoint>
) => ReturnType<
  HttpApiEndpoint.Handler<Endpoint, HttpApiEndpoint.MiddlewareError<Endpoint>, Principal | RequestContext>
>

/** The handlers of a group, one per endpoint. */
export type GroupHandlers<Name extends GroupName> = {
  readonly [Identifier in keyof EndpointsOf<Name>]: Handler<EndpointsOf<Name>[Identifier]>
}

/** The handlers of every group. */
export type AllHandlers = { readonly [Name in GroupName]: GroupHandlers<Name> }
