/**
 * What core declares, for a Tollgate in process and for a client.
 */
import { makeAccountsApi } from "../accounts/AccountsApi.ts"
import { AccessApi } from "../api/AccessApi.ts"
import { type AnyGroup, type DeclaredApi, declareApi } from "../api/declareApi.ts"
import { SystemApi } from "../api/SystemApi.ts"
import { DecisionsApi } from "../authorize/DecisionsApi.ts"
import { ConsumersApi } from "../consumers/ConsumersApi.ts"
import { coreEvents } from "../events/coreEvents.ts"
import { makeEventsApi } from "../events/EventsApi.ts"
import { KeyBucketsApi } from "../keys/KeyBucketsApi.ts"
import { KeysApi } from "../keys/KeysApi.ts"
import { AlertsApi } from "../metering/alerts/AlertsApi.ts"
import { MeteringBucketsApi } from "../metering/buckets/MeteringBucketsApi.ts"
import { GrantsApi } from "../metering/credits/GrantsApi.ts"
import { CustomersApi } from "../metering/customers/CustomersApi.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import { PlansApi } from "../metering/plans/PlansApi.ts"
import { SubscriptionsApi } from "../metering/subscriptions/SubscriptionsApi.ts"
import { UsageApi } from "../metering/usage/UsageApi.ts"
import type { ModuleDeclaration } from "../modules/Module.ts"
import { SearchApi } from "../search/SearchApi.ts"

export const coreDeclaration: ModuleDeclaration = {
  name: "core",
  events: coreEvents,
  owned: { "metering-bucket": ({ bucketId = "" }) => new MeteringBucketNotFound({ bucketId }) }
}

/** The groups of core and of each module, with its place in the list, in the order of the OpenAPI description. */
export const listGroups = (modules: ReadonlyArray<ModuleDeclaration>) => {
  const eventTypes = [coreDeclaration, ...modules].flatMap(({ events = {} }) => Object.keys(events))
  const accountFields = Object.assign({}, ...modules.map((module) => module.accountFields))
  const ofCore: ReadonlyArray<AnyGroup> = [
    AccessApi,
    makeAccountsApi(accountFields),
    SearchApi,
    KeyBucketsApi,
    ConsumersApi,
    KeysApi,
    DecisionsApi,
    MeteringBucketsApi,
    PlansApi,
    SubscriptionsApi,
    CustomersApi,
    GrantsApi,
    AlertsApi,
    UsageApi,
    makeEventsApi(eventTypes)
  ]
  return [
    { index: -1, module: coreDeclaration, groups: ofCore },
    ...modules.map((module, index) => ({ index, module, groups: module.groups?.(eventTypes) ?? [] })),
    { index: -1, module: coreDeclaration, groups: [SystemApi] }
  ]
}

/** The HTTP API of core and these modules. */
export const declareAll = (modules: ReadonlyArray<ModuleDeclaration>): DeclaredApi =>
  declareApi(listGroups(modules).flatMap(({ groups }) => groups))
