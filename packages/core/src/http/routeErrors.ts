import { defineError } from "@tollgate/store/internal"

export class RouteNotFound extends defineError<RouteNotFound>()("RouteNotFound", {
  code: "not-found",
  status: 404,
  title: "Not found",
  meaning:
    "Nothing is at this path: the HTTP API has no such route, or the site or its file does not exist or is not " +
    "deployed yet.",
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
