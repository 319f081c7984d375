import { created, exampleId, type GroupExamples, generatedDates, pageOf } from "@tollgate/core/module"
import type { PortalApi } from "./PortalApi.ts"
import type { PortalKeyJson } from "./PortalKey.ts"
import type { PortalSessionJson } from "./PortalSession.ts"
import type { PortalSessionsApi } from "./PortalSessionsApi.ts"

const expiresOn = "2026-11-16T10:30:00.000Z"

const session: PortalSessionJson = {
  id: exampleId("pse"),
  keyBucketName: "production",
  consumerName: "alice",
  name: "alice@example.com",
  allow: ["keys:read", "keys:write", "usage:read"],
  returnUrl: "https://app.example.com/settings",
  createdOn: created,
  expiresOn
}

/** Examples of the bodies of sessions of customers. The token is abbreviated, so that no scanner takes it for a secret. */
export const portalSessionExamples: GroupExamples<typeof PortalSessionsApi> = {
  list: { response: pageOf(session) },
  create: {
    request: { name: "alice@example.com", returnUrl: "https://app.example.com/settings" },
    response: {
      ...session,
      url: "https://api.example.com/portal/#token=tgp_…&path=accounts%2Facme%2Fkey-buckets%2Fproduction%2Fconsumers%2Falice",
      token: "tgp_…"
    }
  }
}

const key: PortalKeyJson = { id: exampleId("key"), name: "CI", key: "****x7Qp", createdOn: generatedDates.createdOn }
const newKey: PortalKeyJson = { ...key, key: "tg_…" }
const period = { periodStart: "2026-11-01T00:00:00.000Z", resetsOn: "2026-12-01T00:00:00.000Z" }

/** Examples of the bodies of the portal. */
export const portalExamples: GroupExamples<typeof PortalApi> = {
  home: {
    response: {
      consumerName: "alice",
      name: "alice@example.com",
      allow: ["keys:read", "keys:write", "usage:read"],
      returnUrl: "https://app.example.com/settings",
      expiresOn,
      maxKeys: 10,
      hasUsage: true,
      canChangePlan: true
    }
  },
  listKeys: { response: pageOf(key) },
  createKey: { request: { name: "CI" }, response: newKey },
  renameKey: { request: { name: "CI" }, response: key },
  rollKey: { request: { expiresIn: 3_600 }, response: newKey },
  quotas: {
    response: {
      data: [
        { meter: "requests", label: "API requests", max: 1_000, used: 40, remaining: 1_160, credit: 200, ...period }
      ]
    }
  },
  usage: {
    response: {
      step: "month",
      data: [{ start: period.periodStart, end: period.resetsOn, meters: { requests: 40 } }]
    }
  },
  plans: {
    response: {
      current: { name: "Free", status: "active" },
      data: [
        { name: "Free", price: "€ 0", isCurrent: true },
        { name: "Pro", price: "€ 20 a month", description: "100,000 requests" }
      ]
    }
  },
  changePlan: { request: { plan: "Pro" }, response: { url: "https://checkout.example.com/c/1" } },
  refusals: {
    response: {
      data: [{ reason: "rate-limited", limit: "default", count: 52, today: 40, lastOn: created }],
      since: "2026-11-09T09:30:00.000Z"
    }
  }
}
