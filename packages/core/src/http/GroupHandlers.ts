/**
 * What an endpoint does, typed by its declaration: from what was asked, taken apart and checked, to what is answered.
 */
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Principal } from "../access/Principal.ts"
import type { Api } from "./Api.ts"
import type { RequestContext } from "./RequestContext.ts"

type Groups = (typeof Api)["groups"]
export type GroupName = keyof Groups & string
type EndpointsOf<Name extends GroupName> = Groups[Name] extends HttpApiGroup.Constraint
  ? Groups[Name]["endpoints"]
  : never

/** What an endpoint is given: the parts of the request that it declares. */
type EndpointInput<Endpoint extends HttpApiEndpoint.Constraint> = Omit<
  HttpApiEndpoint.Request<Endpoint>,
  "request" | "endpoint" | "group"
>

type Handler<Endpoint extends HttpApiEndpoint.Constraint> = (
  given: EndpointInput<Endpoint>
) => ReturnType<
  HttpApiEndpoint.Handler<Endpoint, HttpApiEndpoint.MiddlewareError<Endpoint>, Principal | RequestContext>
>

/** The handlers of a group, one for each endpoint of it. */
export type HandlersOf<Name extends GroupName> = {
  readonly [Identifier in keyof EndpointsOf<Name>]: Handler<EndpointsOf<Name>[Identifier]>
}

/** The handlers of every group. */
export type AllHandlers = { readonly [Name in GroupName]: HandlersOf<Name> }
