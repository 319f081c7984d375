/**
 * Declares the HTTP endpoints of health checks: liveness and readiness. `http/handlers/SystemHttp.ts` implements them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { StoreUnavailableProblem } from "./problems.ts"

const Healthy = Schema.Struct({ status: Schema.Literal("ok") }).annotate({ identifier: "Healthy" })

export class SystemApi extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("alive", "/healthz", { success: Healthy }).annotate(
      OpenApi.Summary,
      "Check that the server is alive"
    ),
    HttpApiEndpoint.get("ready", "/readyz", { success: Healthy, error: [StoreUnavailableProblem] }).annotate(
      OpenApi.Summary,
      "Check that the store responds"
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "System" })) {}
