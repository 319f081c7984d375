/**
 * Every operation of every service, with the records that it needs, on a store that can be made to fail.
 */
import {
  createTollgate,
  type LocalAccountHandle,
  type LocalKeyBucketHandle,
  type MeteringBucketHandle,
  type Tollgate
} from "@tollgate/core"
import {
  type DeploymentsModule,
  type DeploymentsOfAccount,
  deployments,
  memorySourceStore,
  memoryTarget,
  type ProjectHandle
} from "@tollgate/deployments"
import { customerPortal, type PortalModule, type PortalOfAccount } from "@tollgate/portal"
import type { StoreOperations } from "@tollgate/store"
import { makeFaultyStore, StoreState } from "@tollgate/store-testkit"
import { makeSubscription } from "@tollgate/testing"
import { Effect } from "effect"
import { expect } from "vitest"
import { exemptRelay, readVisibleState, type VisibleState } from "./storedEvents.ts"
import { secret } from "./stores.ts"

type Account = LocalAccountHandle & DeploymentsOfAccount & PortalOfAccount

export interface Fixture {
  readonly gate: Tollgate<DeploymentsModule | PortalModule>
  readonly acme: Account
  readonly keyBucket: LocalKeyBucketHandle
  readonly meteringBucket: MeteringBucketHandle
  readonly web: ProjectHandle
  readonly planId: string
  readonly subscriptionId: string
  /** Holds 5 tokens. */
  readonly reservationId: string
  /** Of requests, which have an allowance of 10. */
  readonly grantId: string
  readonly alertId: string
  readonly key: { readonly id: string; readonly value: string }
  /** A session of alice in its portal. */
  readonly sessionId: string
  readonly deployment: string
  readonly statusId: string
  /** The version before the one that is served. */
  readonly earlierId: string
  readonly uploadUrl: string
  /** The upload URL for a second version of the deployment. */
  readonly nextUrl: string
}

/** Runs an operation, and checks whether it has been applied. */
export interface Operation {
  /** Needs a deployment, its status and upload URLs. */
  readonly needsDeployment?: true
  /** Needs the portal, and a session. */
  readonly needsPortal?: true
  readonly run: (fixture: Fixture) => Promise<unknown>
  readonly isDone?: (fixture: Fixture) => Promise<boolean>
  /** The types of the events that it records, sorted. */
  readonly events?: ReadonlyArray<string>
  /** Has no idempotency key: a repeated call is applied again, and records what it changes. */
  readonly appliesAgain?: true
  /** What else is recorded if a call that has failed is undone. */
  readonly eventsOfUndoing?: ReadonlyArray<string>
  /** Consists of several commits. If one fails, the next call completes the operation. */
  readonly isMultiStep?: true
  /** The error of a repeated call, if the first call was applied but its reply was lost. */
  readonly errorWhenRepeated?: string
}

const hasTag = (error: unknown, tag: string): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === tag
const failsWith = (call: Promise<unknown>, tag: string): Promise<boolean> =>
  call.then(
    () => false,
    (error) => hasTag(error, tag)
  )
/** The id of the version that is served. */
const getServedVersion = async (web: ProjectHandle, deployment: string) =>
  (await web.deployments.versions(deployment)).data.find(({ isServed }) => isServed)?.id
const idempotency = { idempotencyKey: "once" }
const expiry = "2031-01-01T00:00:00.000Z"
const makeProSubscription = (planId: string, subscriptionExternalId: string) =>
  makeSubscription(planId, "pro", { subscriptionExternalId })

/** The subscription is younger than an event of an hour ago, which therefore counts in the history alone. */
const makeUsageEvent = (id: string, ageMs: number) => ({
  specversion: "1.0" as const,
  id,
  source: "/faults",
  type: "use",
  subject: "alice",
  time: new Date(Date.now() - ageMs).toISOString(),
  data: { meters: { requests: 3 } }
})

export const operations: Readonly<Record<string, Operation>> = {
  "consumers.list": { run: ({ keyBucket }) => keyBucket.consumers.list({ apiKeys: true }) },
  "consumers.get": {
    run: ({ keyBucket }) => keyBucket.consumers.get("alice", { apiKeys: true })
  },
  "consumers.create": {
    events: ["consumer.created", "key.created"],
    run: ({ keyBucket }) => keyBucket.consumers.create({ name: "bob" }, { withApiKey: true, ...idempotency }),
    isDone: async ({ keyBucket }) => (await keyBucket.keys.list("bob").catch(() => ({ total: 0 }))).total === 1
  },
  "consumers.create with a subscription": {
    events: ["subscription.created", "consumer.created", "key.created"],
    // A call that has failed may have left its subscription, until it is undone.
    isMultiStep: true,
    appliesAgain: true,
    eventsOfUndoing: ["subscription.deleted"],
    run: ({ keyBucket, meteringBucket: { id } }) =>
      keyBucket.consumers.create(
        { name: "bob", subscription: { meteringBucket: id, planExternalIds: ["pro"] } },
        { withApiKey: true, ...idempotency }
      ),
    isDone: async ({ keyBucket, meteringBucket }) =>
      (await keyBucket.keys.list("bob").catch(() => ({ total: 0 }))).total === 1 &&
      (await meteringBucket.subscriptions.list({ customerKey: "bob" })).total > 0
  },
  "consumers.update": {
    events: ["consumer.updated"],
    appliesAgain: true,
    run: ({ keyBucket }) => keyBucket.consumers.update("alice", { tags: { team: "red" } }),
    isDone: async ({ keyBucket }) => (await keyBucket.consumers.list({ tags: { team: "red" } })).total === 1
  },
  "consumers.remove": {
    events: ["consumer.deleted"],
    run: ({ keyBucket }) => keyBucket.consumers.remove("alice"),
    isDone: async ({ keyBucket, key }) =>
      (await failsWith(keyBucket.consumers.get("alice"), "ConsumerNotFound")) &&
      !(await keyBucket.verify(key.value)).valid,
    errorWhenRepeated: "ConsumerNotFound"
  },
  "consumers.rollKey": {
    events: ["consumer.key_rolled", "key.created"],
    run: ({ keyBucket }) => keyBucket.consumers.rollKey("alice", { expiresOn: expiry }, idempotency),
    isDone: async ({ keyBucket }) => (await keyBucket.keys.list("alice")).total === 2
  },
  "keys.list": { run: ({ keyBucket }) => keyBucket.keys.list("alice") },
  "keys.get": { run: ({ keyBucket, key }) => keyBucket.keys.get("alice", key.id) },
  "keys.verify": { run: ({ keyBucket, key }) => keyBucket.verify(key.value) },
  "decisions.authorize": { run: ({ keyBucket, key }) => keyBucket.authorize(key.value) },
  "keys.create": {
    events: ["key.created"],
    run: ({ keyBucket }) => keyBucket.keys.create("alice", {}, idempotency),
    isDone: async ({ keyBucket }) => (await keyBucket.keys.list("alice")).total === 2
  },
  "keys.createMany": {
    events: ["key.created", "key.created", "key.created"],
    run: ({ keyBucket }) => keyBucket.keys.createMany("alice", [{}, {}, {}], idempotency),
    isDone: async ({ keyBucket }) => (await keyBucket.keys.list("alice")).total === 4
  },
  "keys.import": {
    events: ["key.created"],
    run: ({ keyBucket }) =>
      keyBucket.keys.import("alice", { keys: [{ hash: "0".repeat(64), algorithm: "sha256" }] }, idempotency),
    isDone: async ({ keyBucket }) => (await keyBucket.keys.list("alice")).total === 2
  },
  "keys.update": {
    events: ["key.updated"],
    appliesAgain: true,
    run: ({ keyBucket, key }) => keyBucket.keys.update("alice", key.id, { description: "new" }),
    isDone: async ({ keyBucket, key }) => (await keyBucket.keys.get("alice", key.id)).description === "new"
  },
  "keys.remove": {
    events: ["key.deleted"],
    run: ({ keyBucket, key }) => keyBucket.keys.remove("alice", key.id),
    isDone: async ({ keyBucket, key }) => !(await keyBucket.verify(key.value)).valid,
    errorWhenRepeated: "KeyNotFound"
  },
  "portalSessions.create": {
    events: ["portal_session.created"],
    needsPortal: true,
    run: ({ acme }) => acme.portalSessions.create("b", "alice", { name: "ann" }, idempotency),
    isDone: async ({ acme }) => (await acme.portalSessions.list("b", "alice")).total === 2
  },
  "portalSessions.remove": {
    events: ["portal_session.deleted"],
    needsPortal: true,
    run: ({ acme, sessionId }) => acme.portalSessions.remove("b", "alice", sessionId),
    isDone: async ({ acme }) => (await acme.portalSessions.list("b", "alice")).total === 0,
    errorWhenRepeated: "PortalSessionNotFound"
  },
  "portalSessions.removeAll": {
    events: ["portal_session.deleted"],
    needsPortal: true,
    run: ({ acme }) => acme.portalSessions.removeAll("b", "alice"),
    isDone: async ({ acme }) => (await acme.portalSessions.list("b", "alice")).total === 0
  },
  "portal.listKeys": { needsPortal: true, run: ({ acme }) => acme.portal.listKeys("b", "alice") },
  "portal.createKey": {
    events: ["key.created"],
    needsPortal: true,
    run: ({ acme }) => acme.portal.createKey("b", "alice", { name: "CI" }, idempotency),
    isDone: async ({ keyBucket }) => (await keyBucket.keys.list("alice")).total === 2
  },
  "portal.renameKey": {
    events: ["key.updated"],
    needsPortal: true,
    appliesAgain: true,
    run: ({ acme, key }) => acme.portal.renameKey("b", "alice", key.id, { name: "CI" }),
    isDone: async ({ keyBucket, key }) => (await keyBucket.keys.get("alice", key.id)).description === "CI"
  },
  "portal.rollKey": {
    events: ["key.created", "key.updated"],
    needsPortal: true,
    run: ({ acme, key }) => acme.portal.rollKey("b", "alice", key.id, {}, idempotency),
    isDone: async ({ keyBucket, key }) =>
      (await keyBucket.keys.list("alice")).total === 2 &&
      (await keyBucket.keys.get("alice", key.id)).expiresOn !== undefined
  },
  "portal.revokeKey": {
    events: ["key.deleted"],
    needsPortal: true,
    run: ({ acme, key }) => acme.portal.revokeKey("b", "alice", key.id),
    isDone: async ({ keyBucket, key }) => !(await keyBucket.verify(key.value)).valid,
    errorWhenRepeated: "KeyNotFound"
  },
  "meteringBuckets.list": { run: ({ acme }) => acme.meteringBuckets.list() },
  "meteringBuckets.get": { run: ({ acme, meteringBucket }) => acme.meteringBuckets.get(meteringBucket.id) },
  "meteringBuckets.create": {
    events: ["metering_bucket.created"],
    run: ({ acme }) => acme.meteringBuckets.create({}, idempotency),
    isDone: async ({ acme }) => (await acme.meteringBuckets.list()).total === 2,
    isMultiStep: true
  },
  "meteringBuckets.ensure": {
    events: ["metering_bucket.created"],
    run: ({ acme }) => acme.meteringBuckets.ensure("default"),
    isDone: async ({ acme }) => (await acme.meteringBuckets.list({ name: "default" })).total === 1,
    isMultiStep: true
  },
  "meteringBuckets.remove": {
    events: ["metering_bucket.deleted"],
    run: ({ acme, meteringBucket }) => acme.meteringBuckets.remove(meteringBucket.id),
    isDone: async ({ acme }) => (await acme.meteringBuckets.list()).total === 0,
    isMultiStep: true,
    errorWhenRepeated: "MeteringBucketNotFound"
  },
  "plans.list": { run: ({ meteringBucket }) => meteringBucket.plans.list() },
  "plans.get": { run: ({ meteringBucket, planId }) => meteringBucket.plans.get(planId) },
  "plans.create": {
    events: ["plan.created"],
    run: ({ meteringBucket }) =>
      meteringBucket.plans.create(
        { label: "Free", planExternalId: "free", meters: { requests: { max: 1 } } },
        idempotency
      ),
    isDone: async ({ meteringBucket }) => (await meteringBucket.plans.list()).total === 2
  },
  "plans.ensure": {
    events: ["plan.created", "plan.updated"],
    run: ({ meteringBucket }) =>
      meteringBucket.plans.ensure([
        { planExternalId: "pro", label: "Pro", meters: { requests: { max: 20 }, tokens: { max: 10 } } },
        { planExternalId: "free", meters: { requests: { max: 1 } } }
      ]),
    isDone: async ({ meteringBucket }) => {
      const { data } = await meteringBucket.plans.list()
      return data.length === 2 && data[0]?.meters["requests"]?.max === 20
    }
  },
  "plans.update": {
    events: ["plan.updated"],
    appliesAgain: true,
    run: ({ meteringBucket, planId }) => meteringBucket.plans.update(planId, { label: "Other" }),
    isDone: async ({ meteringBucket, planId }) => (await meteringBucket.plans.get(planId)).label === "Other"
  },
  "plans.remove of a plan in use": {
    run: ({ meteringBucket, planId }) =>
      meteringBucket.plans.remove(planId).catch((error) => {
        if (!hasTag(error, "PlanInUse")) throw error
      })
  },
  "grants.list": { run: ({ meteringBucket }) => meteringBucket.customer("alice").grants.list({ state: "active" }) },
  "grants.get": { run: ({ meteringBucket, grantId }) => meteringBucket.customer("alice").grants.get(grantId) },
  "grants.create": {
    events: ["grant.created"],
    run: ({ meteringBucket }) =>
      meteringBucket.customer("alice").grants.create({ meter: "requests", amount: 7 }, idempotency),
    isDone: async ({ meteringBucket }) => (await meteringBucket.customer("alice").grants.list()).total === 2
  },
  "grants.void": {
    events: ["grant.voided"],
    isMultiStep: true,
    run: ({ meteringBucket, grantId }) => meteringBucket.customer("alice").grants.void(grantId),
    isDone: async ({ meteringBucket, grantId }) =>
      (await meteringBucket.customer("alice").grants.get(grantId)).state === "voided"
  },
  "alerts.list": { run: ({ meteringBucket }) => meteringBucket.customer("alice").alerts.list() },
  "alerts.get": { run: ({ meteringBucket, alertId }) => meteringBucket.customer("alice").alerts.get(alertId) },
  "alerts.create": {
    events: ["alert.created"],
    isMultiStep: true,
    run: ({ meteringBucket }) =>
      meteringBucket.customer("alice").alerts.create({ meter: "requests", when: { used: 9 } }, idempotency),
    isDone: async ({ meteringBucket }) => (await meteringBucket.customer("alice").alerts.list()).total === 2
  },
  "alerts.remove": {
    events: ["alert.deleted"],
    errorWhenRepeated: "AlertNotFound",
    run: ({ meteringBucket, alertId }) => meteringBucket.customer("alice").alerts.remove(alertId),
    isDone: async ({ meteringBucket }) => (await meteringBucket.customer("alice").alerts.list()).total === 0
  },
  "subscriptions.list": {
    run: ({ meteringBucket }) => meteringBucket.subscriptions.list({ status: "active" })
  },
  "subscriptions.get": {
    run: ({ meteringBucket, subscriptionId }) => meteringBucket.subscriptions.get(subscriptionId)
  },
  "subscriptions.create": {
    events: ["subscription.created"],
    run: ({ meteringBucket, planId }) =>
      meteringBucket.subscriptions.create(makeProSubscription(planId, "s-2"), idempotency),
    isDone: async ({ meteringBucket }) => (await meteringBucket.subscriptions.list()).total === 2
  },
  "subscriptions.update": {
    events: ["subscription.status_changed", "subscription.updated"],
    appliesAgain: true,
    run: ({ meteringBucket, subscriptionId }) =>
      meteringBucket.subscriptions.update(subscriptionId, { status: "past-due" }),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.subscriptions.get(subscriptionId)).status === "past-due"
  },
  "subscriptions.remove": {
    events: ["period.closed", "subscription.deleted"],
    run: ({ meteringBucket, subscriptionId }) => meteringBucket.subscriptions.remove(subscriptionId),
    isDone: ({ meteringBucket, subscriptionId }) =>
      failsWith(meteringBucket.subscriptions.get(subscriptionId), "SubscriptionNotFound"),
    errorWhenRepeated: "SubscriptionNotFound"
  },
  "usage.quotas": {
    run: ({ meteringBucket, subscriptionId }) => meteringBucket.usage.quotas(subscriptionId)
  },
  "usage.consume": {
    run: ({ meteringBucket, subscriptionId }) =>
      meteringBucket.usage.consume(subscriptionId, { requests: 3 }, idempotency),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.usage.quotas(subscriptionId)).meters["requests"]?.used === 4
  },
  "usage.series": {
    run: ({ meteringBucket, subscriptionId }) => meteringBucket.usage.series(subscriptionId, { step: "hour" })
  },
  "usage.totals": { run: ({ meteringBucket }) => meteringBucket.usage.totals() },
  "usage.top": { run: ({ meteringBucket }) => meteringBucket.usage.top({ meter: "requests" }) },
  "usage.export": { run: async ({ meteringBucket }) => meteringBucket.usage.export({ month: "2026-11" }) },
  "usage.record": {
    run: ({ meteringBucket }) =>
      meteringBucket.usage.record({ customerKey: "alice", meters: { requests: 30 } }, idempotency),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.usage.quotas(subscriptionId)).meters["requests"]?.used === 31
  },
  "usage.recordEvents": {
    // What is late is counted in a commit of its own.
    isMultiStep: true,
    run: ({ meteringBucket }) =>
      meteringBucket.usage.recordEvents([makeUsageEvent("now", 0), makeUsageEvent("late", 3_600_000)]),
    isDone: async ({ meteringBucket, subscriptionId }) => {
      const { meters } = await meteringBucket.usage.quotas(subscriptionId)
      const { data } = await meteringBucket.usage.totals({ step: "day" })
      return (
        meters["requests"]?.used === 4 && data.reduce((sum, { meters }) => sum + (meters["requests"] ?? 0), 0) === 7
      )
    }
  },
  "usage.reserve": {
    run: ({ meteringBucket, subscriptionId }) =>
      meteringBucket.usage.reserve(subscriptionId, { meters: { requests: 4 }, expiresIn: 3_600 }, idempotency),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.usage.quotas(subscriptionId)).meters["requests"]?.used === 5
  },
  "usage.settle": {
    run: ({ meteringBucket, subscriptionId, reservationId }) =>
      meteringBucket.usage.settle(subscriptionId, reservationId, { meters: { tokens: 2 } }, idempotency),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.usage.quotas(subscriptionId)).meters["tokens"]?.used === 2
  },
  "usage.release": {
    run: ({ meteringBucket, subscriptionId, reservationId }) =>
      meteringBucket.usage.release(subscriptionId, reservationId, idempotency),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.usage.quotas(subscriptionId)).meters["tokens"]?.used === 0
  },
  authorize: {
    run: ({ keyBucket, meteringBucket, key }) =>
      keyBucket.authorize(key.value, { metering: { meteringBucketId: meteringBucket.id, meters: { requests: 1 } } }),
    // Without an idempotency key, a repeated call counts the use again if the first reply was lost.
    isDone: async ({ meteringBucket, subscriptionId }) =>
      ((await meteringBucket.usage.quotas(subscriptionId)).meters["requests"]?.used ?? 0) >= 1
  },
  "deployments.list": { needsDeployment: true, run: ({ web }) => web.deployments.list() },
  "deployments.get": { needsDeployment: true, run: ({ web, deployment }) => web.deployments.get(deployment) },
  "deployments.status": {
    needsDeployment: true,
    run: ({ web, statusId }) => web.deployments.status(statusId)
  },
  "deployments.log": { needsDeployment: true, run: ({ web, statusId }) => web.deployments.log(statusId) },
  "deployments.createSource": {
    needsDeployment: true,
    run: ({ web }) => web.deployments.createSource({ branchName: "x" }, idempotency),
    // The same idempotency key returns the same URL, whether or not the first reply was lost.
    isDone: async ({ web }) => {
      const createSource = () => web.deployments.createSource({ branchName: "x" }, idempotency)
      const [first, second] = [await createSource(), await createSource()]
      return first.uploadUrl === second.uploadUrl
    }
  },
  "deployments.upload": {
    events: ["deployment.created"],
    needsDeployment: true,
    run: ({ acme, uploadUrl }) => acme.project("other").deployments.upload(uploadUrl, new Uint8Array(10)),
    isDone: async ({ acme }) => (await acme.project("other").deployments.list()).total === 1,
    isMultiStep: true,
    errorWhenRepeated: "AlreadyUploaded"
  },
  "deployments.upload of a second version": {
    needsDeployment: true,
    run: ({ web, nextUrl }) => web.deployments.upload(nextUrl, new Uint8Array(10)),
    isDone: ({ web, nextUrl }) => failsWith(web.deployments.upload(nextUrl, new Uint8Array(10)), "AlreadyUploaded"),
    isMultiStep: true,
    errorWhenRepeated: "AlreadyUploaded"
  },
  "deployments.versions": { needsDeployment: true, run: ({ web, deployment }) => web.deployments.versions(deployment) },
  "deployments.rollback": {
    events: ["deployment.rolled_back"],
    needsDeployment: true,
    run: ({ web, deployment, earlierId }) => web.deployments.rollback(deployment, { version: earlierId }, idempotency),
    isDone: async ({ web, deployment, earlierId }) =>
      (await getServedVersion(web, deployment)) === earlierId &&
      (await web.deployments.get(deployment)).isPinned === true
  },
  "deployments.rollback to the served version": {
    needsDeployment: true,
    run: ({ web, deployment, statusId }) => web.deployments.rollback(deployment, { version: statusId }, idempotency),
    isDone: async ({ web, deployment, statusId }) =>
      (await getServedVersion(web, deployment)) === statusId &&
      (await web.deployments.get(deployment)).isPinned === undefined
  },
  "deployments.promote": {
    events: ["deployment.promoted"],
    needsDeployment: true,
    run: ({ web, deployment, earlierId }) => web.deployments.promote(deployment, { version: earlierId }, idempotency),
    isDone: async ({ web, deployment, earlierId }) => (await getServedVersion(web, deployment)) === earlierId
  },
  "deployments.promote of the served version": {
    needsDeployment: true,
    run: ({ web, deployment }) => web.deployments.promote(deployment)
  },
  "deployments.remove": {
    events: ["deployment.deleted"],
    needsDeployment: true,
    run: ({ web, deployment }) => web.deployments.remove(deployment),
    isDone: ({ web, deployment }) => failsWith(web.deployments.get(deployment), "DeploymentNotFound"),
    isMultiStep: true,
    errorWhenRepeated: "DeploymentNotFound"
  }
}

/** Deploys two versions of `main`, waits until the superseded one is pruned, and asks for the next uploads. */
const deploy = async (acme: Account, readState: () => Promise<VisibleState>) => {
  const [web, main] = [acme.project("web"), { branchName: "main" }]
  const deployVersion = async () => {
    const { uploadUrl } = await web.deployments.createSource(main)
    const { id } = await web.deployments.upload(uploadUrl, new Uint8Array(5))
    await expect
      .poll(async () => (await web.deployments.status(id)).status, { interval: 5, timeout: 30_000 })
      .toBe("SUCCESS")
    return id
  }
  const [earlierId, statusId] = [await deployVersion(), await deployVersion()]
  await expect
    .poll(async () => (await readState()).records, { interval: 5, timeout: 30_000 })
    .not.toContain('"key":"leftover/')
  const { uploadUrl } = await acme.project("other").deployments.createSource(main)
  const { uploadUrl: nextUrl } = await web.deployments.createSource(main)
  const [deployment] = (await web.deployments.list()).data
  return { deployment: deployment?.name ?? "", statusId, earlierId, uploadUrl, nextUrl }
}

/** Creates every record that the operations may need, in an empty store that can be made to fail. */
export const makeFixture = async (emptyStore: StoreOperations, ...operations: ReadonlyArray<Operation>) => {
  const { store: watched, state } = StoreState.watch(emptyStore)
  const faulty = makeFaultyStore(watched)
  const { injectAt, calls } = faulty
  const readState = () => readVisibleState(state)
  const store = exemptRelay(faulty.store, watched)
  let isStalled = false
  const target = { ...memoryTarget(), check: () => (isStalled ? Effect.never : Effect.void) }
  const hasPortal = operations.some(({ needsPortal }) => needsPortal)
  const modules: ReadonlyArray<DeploymentsModule | PortalModule> = [
    deployments({ sources: memorySourceStore(), target }),
    ...(hasPortal ? [customerPortal({ meteringBucket: "billing" })] : [])
  ]
  const openGate = (store: StoreOperations) => createTollgate({ store, secret, publicUrl: "http://gate", modules })
  const gate = await openGate(store)
  const acme = gate.account("acme")
  const [keyBucket, web] = [acme.keyBucket("b"), acme.project("web")]
  const alice = await keyBucket.consumers.create({ name: "alice", tags: { team: "blue" } }, { withApiKey: true })
  const meteringBucket = acme.meteringBucket((await acme.meteringBuckets.create({ name: "billing" })).id)
  const plan = await meteringBucket.plans.create({
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: 10 }, tokens: { max: 10 } }
  })
  const { id: subscriptionId } = await meteringBucket.subscriptions.create(makeProSubscription(plan.id, "s-1"))
  const tokens = { meters: { tokens: 5 }, expiresIn: 3_600 }
  const { id: reservationId } = await meteringBucket.usage.reserve(subscriptionId, tokens)
  const { id: grantId } = await meteringBucket.customer("alice").grants.create({ meter: "requests", amount: 5 })
  // More than any of these operations uses.
  const when = { used: 1_000 }
  const { id: alertId } = await meteringBucket.customer("alice").alerts.create({ meter: "requests", when })
  // What is counted later comes on top of this.
  await meteringBucket.customer("alice").consume({ requests: 1 })
  const sessionId = hasPortal ? (await acme.portalSessions.create("b", "alice")).id : ""
  const deployed = operations.some(({ needsDeployment }) => needsDeployment)
    ? await deploy(acme, readState)
    : { deployment: "", statusId: "", earlierId: "", uploadUrl: "", nextUrl: "" }
  // From here on, runs never finish, so that operations are tested during a run.
  isStalled = true
  const [key] = alice.apiKeys
  const fixture: Fixture = {
    gate,
    acme,
    keyBucket,
    meteringBucket,
    web,
    planId: plan.id,
    subscriptionId,
    reservationId,
    grantId,
    alertId,
    sessionId,
    key: { id: key.id, value: key.key ?? "" },
    ...deployed
  }
  /** The same records, used by a gate of its own as in a second process: its store calls never fail. */
  const openOtherProcess = async (): Promise<Fixture> => {
    const gate = await openGate(watched)
    const acme = gate.account("acme")
    return {
      ...fixture,
      gate,
      acme,
      keyBucket: acme.keyBucket("b"),
      meteringBucket: acme.meteringBucket(meteringBucket.id),
      web: acme.project("web")
    }
  }
  return { fixture, openOtherProcess, injectAt, calls, readState }
}
