import type { AccountName, ClientModule, EventCatalog, HandleTools } from "@tollgate/core/module"
import { PortalApi, type PortalMethods } from "./PortalApi.ts"
import { PortalSession } from "./PortalSession.ts"
import { PortalSessionsApi, type PortalSessionsMethods } from "./PortalSessionsApi.ts"

declare module "@tollgate/core/module" {
  interface EventTypes {
    "portal_session.created": true
    "portal_session.deleted": true
  }
}

/** What the portal adds to the handle of an account. */
export interface PortalOfAccount {
  /** Sessions of customers in their portal. */
  readonly portalSessions: PortalSessionsMethods
  /** What customers see and do in their portal. */
  readonly portal: PortalMethods
}

const portalEvents = {
  "portal_session.created": { description: "A portal session was opened for a customer.", data: PortalSession },
  "portal_session.deleted": { description: "A portal session was revoked.", data: PortalSession }
} satisfies EventCatalog

/** What the portal declares, for a Tollgate in process and for a client. */
export const portalClient = {
  name: "portal",
  groups: () => [PortalSessionsApi, PortalApi],
  events: portalEvents,
  account: {
    portalSessions: ({ methods }: HandleTools, accountName: AccountName) =>
      methods<PortalSessionsMethods>("portalSessions", { accountName }),
    portal: ({ methods }: HandleTools, accountName: AccountName) => methods<PortalMethods>("portal", { accountName })
  }
} satisfies ClientModule as ClientModule<PortalOfAccount>
