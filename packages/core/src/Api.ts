/**
 * The HTTP interface, whole: every group, and what the description says of them.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { ConsumersApi } from "./consumers/ConsumersApi.ts"
import { DeploymentsApi, UploadsApi } from "./deployments/DeploymentsApi.ts"
import { completeDescription } from "./http/openApi.ts"
import { SystemApi } from "./http/SystemApi.ts"
import { KeysApi } from "./keys/KeysApi.ts"
import { MeteringBucketsApi } from "./metering/BucketsApi.ts"
import { PlansApi } from "./plans/PlansApi.ts"
import { SubscriptionsApi } from "./subscriptions/SubscriptionsApi.ts"

export class Api extends HttpApi.make("tollgate")
  .add(ConsumersApi)
  .add(KeysApi)
  .add(MeteringBucketsApi)
  .add(PlansApi)
  .add(SubscriptionsApi)
  .add(DeploymentsApi)
  .add(UploadsApi)
  .add(SystemApi)
  .annotateMerge(
    OpenApi.annotations({
      title: "Tollgate",
      version: "1",
      description: "API keys, plans with metered quotas, subscriptions and deployments for the customers of a server.",
      license: { name: "MIT" },
      transform: completeDescription
    })
  ) {}
