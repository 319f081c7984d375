/** The JSON of the HTTP API. Types only: the client itself would be larger than the whole page. */
import type { PortalPlansJson, PortalQuotasJson, PortalRefusalsJson } from "@tollgate/portal/client"

export type {
  PortalHomeJson,
  PortalKeyJson,
  PortalPlanChangedJson,
  PortalPlansJson,
  PortalQuotasJson,
  PortalRefusalsJson,
  PortalUsageJson
} from "@tollgate/portal/client"

export type MeterJson = PortalQuotasJson["data"][number]
export type OfferJson = PortalPlansJson["data"][number]
export type RefusalJson = PortalRefusalsJson["data"][number]
