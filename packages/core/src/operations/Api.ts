/**
 * The whole HTTP API: all endpoint groups and the metadata of the OpenAPI description.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { AccountsApi } from "../accounts/AccountsApi.ts"
import { AccessApi } from "../api/AccessApi.ts"
import { describeOperations } from "../api/describeOperations.ts"
import { SystemApi } from "../api/SystemApi.ts"
import { ConsumersApi } from "../consumers/ConsumersApi.ts"
import { DeploymentsApi, UploadsApi } from "../deployments/DeploymentsApi.ts"
import { ProjectsApi } from "../deployments/ProjectsApi.ts"
import { EventsApi } from "../events/EventsApi.ts"
import { KeyBucketsApi } from "../keys/KeyBucketsApi.ts"
import { KeysApi } from "../keys/KeysApi.ts"
import { MeteringBucketsApi } from "../metering/buckets/MeteringBucketsApi.ts"
import { PlansApi } from "../metering/plans/PlansApi.ts"
import { SubscriptionsApi } from "../metering/subscriptions/SubscriptionsApi.ts"
import { UsageApi } from "../metering/usage/UsageApi.ts"
import { WebhooksApi } from "../webhooks/WebhooksApi.ts"
import { completeOpenApi } from "./openApi.ts"

class Declarations extends HttpApi.make("tollgate")
  .add(AccessApi)
  .add(AccountsApi)
  .add(KeyBucketsApi)
  .add(ConsumersApi)
  .add(KeysApi)
  .add(MeteringBucketsApi)
  .add(PlansApi)
  .add(SubscriptionsApi)
  .add(UsageApi)
  .add(ProjectsApi)
  .add(DeploymentsApi)
  .add(UploadsApi)
  .add(EventsApi)
  .add(WebhooksApi)
  .add(SystemApi) {}

/** The declaration of the whole HTTP API, from which the handlers, the clients and the OpenAPI description are made. */
export class Api extends Declarations.annotateMerge(
  OpenApi.annotations({
    title: "Tollgate",
    version: "1",
    description: "API keys, plans with metered quotas, subscriptions and deployments for the customers of a server.",
    license: { name: "MIT", identifier: "MIT" },
    transform: (spec) => completeOpenApi(spec, describeOperations(Declarations))
  })
) {}
