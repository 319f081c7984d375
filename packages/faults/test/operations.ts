/**
 * Every operation of every service, with the records that it needs, on a store that can be made to fail.
 */
import {
  createTollgate,
  type LocalAccountHandle,
  type LocalKeyBucketHandle,
  type MeteringBucketHandle,
  type ProjectHandle,
  type Tollgate
} from "@tollgate/core"
import { memorySourceStore, memoryTarget, type StoreOperations } from "@tollgate/core/store"
import { makeFaultyStore, StoreState } from "@tollgate/store-testkit"
import { makeSubscription } from "@tollgate/testing"
import { Effect } from "effect"
import { expect } from "vitest"
import { exemptRelay, readVisibleState } from "./storedEvents.ts"
import { secret } from "./stores.ts"

export interface Fixture {
  readonly gate: Tollgate
  readonly acme: LocalAccountHandle
  readonly keyBucket: LocalKeyBucketHandle
  readonly meteringBucket: MeteringBucketHandle
  readonly web: ProjectHandle
  readonly planId: string
  readonly subscriptionId: string
  /** Holds 5 tokens. */
  readonly reservationId: string
  readonly key: { readonly id: string; readonly value: string }
  readonly deployment: string
  readonly statusId: string
  readonly uploadUrl: string
  /** The upload URL for a second version of the deployment. */
  readonly nextUrl: string
}

/** Runs an operation, and checks whether it has been applied. */
export interface Operation {
  /** Needs a deployment, its status and upload URLs. */
  readonly needsDeployment?: true
  readonly run: (fixture: Fixture) => Promise<unknown>
  readonly isDone?: (fixture: Fixture) => Promise<boolean>
  /** The types of the events that it records, sorted. */
  readonly events?: ReadonlyArray<string>
  /** Has no idempotency key: a repeated call is applied again, and records what it changes. */
  readonly appliesAgain?: true
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
const idempotency = { idempotencyKey: "once" }
const expiry = "2031-01-01T00:00:00.000Z"
const makeProSubscription = (planId: string, subscriptionExternalId: string) =>
  makeSubscription(planId, "pro", { subscriptionExternalId })

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
    events: ["subscription.deleted"],
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
      (await meteringBucket.usage.quotas(subscriptionId)).meters["requests"]?.used === 3
  },
  "usage.series": {
    run: ({ meteringBucket, subscriptionId }) => meteringBucket.usage.series(subscriptionId, { step: "hour" })
  },
  "usage.totals": { run: ({ meteringBucket }) => meteringBucket.usage.totals() },
  "usage.record": {
    run: ({ meteringBucket }) =>
      meteringBucket.usage.record({ customerKey: "alice", meters: { requests: 30 } }, idempotency),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.usage.quotas(subscriptionId)).meters["requests"]?.used === 30
  },
  "usage.reserve": {
    run: ({ meteringBucket, subscriptionId }) =>
      meteringBucket.usage.reserve(subscriptionId, { meters: { requests: 4 }, expiresIn: 3_600 }, idempotency),
    isDone: async ({ meteringBucket, subscriptionId }) =>
      (await meteringBucket.usage.quotas(subscriptionId)).meters["requests"]?.used === 4
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
  "deployments.remove": {
    events: ["deployment.deleted"],
    needsDeployment: true,
    run: ({ web, deployment }) => web.deployments.remove(deployment),
    isDone: ({ web, deployment }) => failsWith(web.deployments.get(deployment), "DeploymentNotFound"),
    isMultiStep: true,
    errorWhenRepeated: "DeploymentNotFound"
  }
}

/** Deploys a first version of `main`, and asks for the next uploads. */
const deploy = async (acme: LocalAccountHandle) => {
  const [web, main] = [acme.project("web"), { branchName: "main" }]
  const first = await web.deployments.createSource(main)
  const { id: statusId } = await web.deployments.upload(first.uploadUrl, new Uint8Array(5))
  await expect
    .poll(async () => (await web.deployments.status(statusId)).status, { interval: 5, timeout: 30_000 })
    .toBe("SUCCESS")
  const { uploadUrl } = await acme.project("other").deployments.createSource(main)
  const { uploadUrl: nextUrl } = await web.deployments.createSource(main)
  const [deployment] = (await web.deployments.list()).data
  return { deployment: deployment?.name ?? "", statusId, uploadUrl, nextUrl }
}

/** Creates every record that the operations may need, in an empty store that can be made to fail. */
export const makeFixture = async (emptyStore: StoreOperations, ...operations: ReadonlyArray<Operation>) => {
  const { store: watched, state } = StoreState.watch(emptyStore)
  const faulty = makeFaultyStore(watched)
  const { injectAt, calls } = faulty
  const store = exemptRelay(faulty.store, watched)
  let isStalled = false
  const target = { ...memoryTarget(), check: () => (isStalled ? Effect.never : Effect.void) }
  const deployments = { sources: memorySourceStore(), target }
  const openGate = (store: StoreOperations) => createTollgate({ store, secret, publicUrl: "http://gate", deployments })
  const gate = await openGate(store)
  const acme = gate.account("acme")
  const [keyBucket, web] = [acme.keyBucket("b"), acme.project("web")]
  const alice = await keyBucket.consumers.create({ name: "alice", tags: { team: "blue" } }, { withApiKey: true })
  const meteringBucket = acme.meteringBucket((await acme.meteringBuckets.create()).id)
  const plan = await meteringBucket.plans.create({
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: 10 }, tokens: { max: 10 } }
  })
  const { id: subscriptionId } = await meteringBucket.subscriptions.create(makeProSubscription(plan.id, "s-1"))
  const tokens = { meters: { tokens: 5 }, expiresIn: 3_600 }
  const { id: reservationId } = await meteringBucket.usage.reserve(subscriptionId, tokens)
  const deployed = operations.some(({ needsDeployment }) => needsDeployment)
    ? await deploy(acme)
    : { deployment: "", statusId: "", uploadUrl: "", nextUrl: "" }
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
  return { fixture, openOtherProcess, injectAt, calls, readState: () => readVisibleState(state) }
}
