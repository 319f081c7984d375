import { defineError } from "../errors/defineError.ts"

export class RouteNotFound extends defineError<RouteNotFound>()("RouteNotFound", {
  code: "not-found",
  status: 404,
  title: "Not found",
  detail: () => "Nothing found at this path",
  schemaName: "NotFoundProblem"
}) {}

export class MethodNotAllowed extends defineError<MethodNotAllowed>()("MethodNotAllowed", {
  code: "method-not-allowed",
  status: 405,
  title: "Method not allowed",
  detail: () => "This path does not allow the method"
}) {}
