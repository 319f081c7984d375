/**
 * The whole HTTP API: the endpoint groups of all areas, and the metadata of the OpenAPI description. The handlers, the
 * clients and the OpenAPI description are made from it.
 */
import { HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { describeOperations, type OperationDescription } from "./describeOperations.ts"
import { completeOpenApi } from "./openApi.ts"
import { rejectUnknown } from "./unknownFields.ts"

export type AnyGroup = HttpApiGroup.Constraint

export interface DeclaredApi {
  readonly api: HttpApi.HttpApi<"tollgate", AnyGroup>
  /** All operations, in the order of declaration. */
  readonly descriptions: ReadonlyArray<OperationDescription>
}

export const declareApi = (groups: ReadonlyArray<AnyGroup>): DeclaredApi => {
  const [first, ...rest] = groups
  const empty = HttpApi.make("tollgate")
  const declarations = (first === undefined ? empty : empty.add(first as never, ...(rest as never)))
    .annotate(HttpApi.QueryParseOptions, rejectUnknown)
    .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  const descriptions = describeOperations(declarations)
  const api = declarations.annotateMerge(
    OpenApi.annotations({
      title: "Tollgate",
      version: "1",
      description: "API keys, plans with metered quotas, subscriptions and deployments for the customers of a server.",
      license: { name: "MIT", identifier: "MIT" },
      transform: (spec) => completeOpenApi(spec, descriptions)
    })
  )
  return { api: api as never, descriptions }
}
