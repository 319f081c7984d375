/**
 * `@tollgate/portal`: the portal of your customers as a module of `createTollgate`, its services and errors.
 */

export { Portal } from "./Portal.ts"
export type { PortalMethods } from "./PortalApi.ts"
export * from "./PortalError.ts"
export { PortalSessions } from "./PortalSessions.ts"
export type { PortalSessionsMethods } from "./PortalSessionsApi.ts"
export type { PortalOfAccount } from "./portalDeclaration.ts"
export { customerPortal, type PortalModule } from "./portalModule.ts"
export type {
  OfferedPlan,
  PlanChangeRequest,
  PlanChangeResult,
  PortalLooks,
  PortalOptions
} from "./portalOptions.ts"
export type { PortalTexts } from "./texts.ts"
