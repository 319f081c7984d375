/**
 * The pages and their addresses. Each page is loaded when it is opened for the first time, so that the first view is small.
 */

import { isSegment } from "@tollgate/ui/api/request.ts"
import type { ComponentType } from "preact"

/** The variable parts of a page's address, by name. */
export type PageParams = Readonly<Record<string, string>>

type Page = ComponentType<{ readonly params: PageParams }>

interface PageRoute {
  /** Segments that begin with ":" are variable. */
  readonly pattern: string
  readonly load: () => Promise<Page>
}

export const pageRoutes: ReadonlyArray<PageRoute> = [
  { pattern: "", load: async () => (await import("../pages/accounts/AccountsPage.tsx")).AccountsPage },
  { pattern: "accounts/:account", load: async () => (await import("../pages/overview/OverviewPage.tsx")).OverviewPage },
  {
    pattern: "accounts/:account/consumers",
    load: async () => (await import("../pages/consumers/KeyBucketsPage.tsx")).KeyBucketsPage
  },
  {
    pattern: "accounts/:account/consumers/:bucket",
    load: async () => (await import("../pages/consumers/ConsumersPage.tsx")).ConsumersPage
  },
  {
    pattern: "accounts/:account/consumers/:bucket/:consumer",
    load: async () => (await import("../pages/consumers/ConsumerPage.tsx")).ConsumerPage
  },
  {
    pattern: "accounts/:account/refusals/:bucket",
    load: async () => (await import("../pages/refusals/RefusalsPage.tsx")).RefusalsPage
  },
  {
    pattern: "accounts/:account/metering",
    load: async () => (await import("../pages/metering/MeteringBucketsPage.tsx")).MeteringBucketsPage
  },
  {
    pattern: "accounts/:account/metering/:bucket",
    load: async () => (await import("../pages/metering/MeteringBucketPage.tsx")).MeteringBucketPage
  },
  {
    pattern: "accounts/:account/metering/:bucket/plans/:plan",
    load: async () => (await import("../pages/metering/PlanPage.tsx")).PlanPage
  },
  {
    pattern: "accounts/:account/metering/:bucket/subscriptions/:subscription",
    load: async () => (await import("../pages/metering/SubscriptionPage.tsx")).SubscriptionPage
  },
  {
    pattern: "accounts/:account/deployments",
    load: async () => (await import("../pages/deployments/ProjectsPage.tsx")).ProjectsPage
  },
  {
    pattern: "accounts/:account/deployments/:project",
    load: async () => (await import("../pages/deployments/ProjectPage.tsx")).ProjectPage
  },
  {
    pattern: "accounts/:account/deployments/:project/:deployment",
    load: async () => (await import("../pages/deployments/DeploymentPage.tsx")).DeploymentPage
  },
  {
    pattern: "accounts/:account/events",
    load: async () => (await import("../pages/events/EventsPage.tsx")).EventsPage
  },
  {
    pattern: "accounts/:account/find/:type/:id",
    load: async () => (await import("../pages/events/FindPage.tsx")).FindPage
  },
  {
    pattern: "accounts/:account/people",
    load: async () => (await import("../pages/people/PeoplePage.tsx")).PeoplePage
  },
  {
    pattern: "accounts/:account/webhooks",
    load: async () => (await import("../pages/webhooks/WebhooksPage.tsx")).WebhooksPage
  },
  {
    pattern: "accounts/:account/webhooks/:webhook",
    load: async () => (await import("../pages/webhooks/WebhookPage.tsx")).WebhookPage
  }
]

interface PageMatch {
  readonly route: PageRoute
  readonly params: PageParams
}

const match = (route: PageRoute, segments: ReadonlyArray<string>): PageMatch | undefined => {
  const parts = route.pattern === "" ? [] : route.pattern.split("/")
  if (parts.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const segment = segments[index] ?? ""
    if (part.startsWith(":")) params[part.slice(1)] = segment
    else if (part !== segment) return undefined
  }
  return { route, params }
}

export const findPage = (segments: ReadonlyArray<string>): PageMatch | undefined => {
  if (!segments.every(isSegment)) return undefined
  for (const route of pageRoutes) {
    const found = match(route, segments)
    if (found !== undefined) return found
  }
  return undefined
}
