/**
 * `@tollgate/portal/client`: sessions and operations of the portal for `createClient`.
 */

export type { PortalHomeJson, PortalMethods } from "./PortalApi.ts"
export * from "./PortalError.ts"
export type { PortalKeyJson } from "./PortalKey.ts"
export type { PortalPlanChangedJson, PortalPlansJson } from "./PortalPlan.ts"
export type { NewPortalSessionJson, PortalSessionJson } from "./PortalSession.ts"
export type { PortalSessionsMethods } from "./PortalSessionsApi.ts"
export type { PortalQuotasJson, PortalRefusalsJson, PortalUsageJson } from "./PortalUsage.ts"
export { type PortalOfAccount, portalClient } from "./portalDeclaration.ts"
