/**
 * Declares the health checks: liveness and readiness. `http/System.ts` implements them.
 */

import { InvalidInput, StoreUnavailable } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Owner } from "./Owner.ts"

const Healthy = Schema.Struct({ status: Schema.Literal("ok") }).annotate({ identifier: "Healthy" })

export class SystemApi extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("alive", "/healthz", { success: Healthy, error: [InvalidInput] })
      .annotate(OpenApi.Summary, "Check that the server is alive")
      .annotate(
        OpenApi.Description,
        "Responds as long as the server handles requests. It does not use the store, and needs no token."
      ),
    HttpApiEndpoint.get("ready", "/readyz", { success: Healthy, error: [InvalidInput, StoreUnavailable] })
      .annotate(OpenApi.Summary, "Check that the store responds")
      .annotate(
        OpenApi.Description,
        "Reads from the store, and needs no token. If the store does not respond, the response is 503: send " +
          "requests to another server."
      )
  )
  .annotate(Owner, "none")
  .annotateMerge(OpenApi.annotations({ title: "System", description: "Health checks of the server." })) {}
