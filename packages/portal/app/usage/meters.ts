/** What the customer may still use, by name. Read once for all sections that show it. */
import { get } from "@tollgate/ui/api/request.ts"
import { toPortalPath } from "../session/session.ts"
import type { MeterJson, PortalQuotasJson } from "../types.ts"

export const readMeters = async (signal: AbortSignal): Promise<ReadonlyArray<MeterJson>> =>
  (await get<PortalQuotasJson>(toPortalPath("/quotas"), {}, signal)).data

export const getLabel = ({ label, meter }: MeterJson): string => label ?? meter
