/**
 * `tollgate/portal`: the portal of your customers, as a module of `createTollgate`.
 */

export {
  customerPortal,
  type OfferedPlan,
  type PlanChangeRequest,
  type PlanChangeResult,
  type PortalLooks,
  type PortalModule,
  type PortalOptions,
  type PortalTexts
} from "@tollgate/portal"
export * from "@tollgate/portal/client"
