import { defineError } from "../errors/defineError.ts"

export class RouteNotFound extends defineError<RouteNotFound>()("RouteNotFound", {
  code: "not-found",
  status: 404,
  title: "Not found",
  meaning: "The HTTP API has nothing at this path.",
  remedy: "Check the path, and the base path at which Tollgate is mounted.",
  detail: () => "Nothing found at this path",
  schemaName: "NotFoundProblem"
}) {}

export class MethodNotAllowed extends defineError<MethodNotAllowed>()("MethodNotAllowed", {
  code: "method-not-allowed",
  status: 405,
  title: "Method not allowed",
  meaning: "The path exists, but not with this method.",
  remedy: "Use one of the methods in the header `Allow`.",
  detail: () => "This path does not allow the method"
}) {}
