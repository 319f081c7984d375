/**
 * Every operation of every service, with the records that it needs, on a store that can be made to fail.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { memorySourceStore, memoryTarget, type StoreOperations } from "@tollgate/core/store"
import { makeFaultyStore, StoreState } from "@tollgate/store-testkit"
import { makeSubscription } from "@tollgate/testing"
import { Effect } from "effect"
import { expect } from "vitest"
import { secret } from "./stores.ts"

export interface Fixture {
  readonly gate: Tollgate
  readonly bucketId: string
  readonly planId: string
  readonly subscriptionId: string
  readonly key: { readonly id: string; readonly value: string }
  readonly deployment: string
  readonly statusId: string
  readonly uploadUrl: string
  /** The upload URL for a second version of the deployment. */
  readonly nextUrl: string
}

/** Runs an operation, and checks whether it has been applied. */
export interface Operation {
  readonly run: (fixture: Fixture) => Promise<unknown>
  readonly isDone?: (fixture: Fixture) => Promise<boolean>
  /** Consists of several commits. If one fails, the next call completes the operation. */
  readonly isMultiStep?: true
  /** The error of a repeated call, if the first call was applied but its reply was lost. */
  readonly errorWhenRepeated?: string
}

const [account, bucket] = ["acme", "b"]
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
  "consumers.list": { run: ({ gate }) => gate.consumers.list(account, bucket, { apiKeys: true }) },
  "consumers.get": { run: ({ gate }) => gate.consumers.get(account, bucket, "alice", { apiKeys: true }) },
  "consumers.create": {
    run: ({ gate }) => gate.consumers.create(account, bucket, { name: "bob" }, { withApiKey: true, ...idempotency }),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "bob").catch(() => ({ total: 0 }))).total === 1
  },
  "consumers.update": {
    run: ({ gate }) => gate.consumers.update(account, bucket, "alice", { tags: { team: "red" } }),
    isDone: async ({ gate }) => (await gate.consumers.list(account, bucket, { tags: { team: "red" } })).total === 1
  },
  "consumers.remove": {
    run: ({ gate }) => gate.consumers.remove(account, bucket, "alice"),
    isDone: async ({ gate, key }) =>
      (await failsWith(gate.consumers.get(account, bucket, "alice"), "ConsumerNotFound")) &&
      !(await gate.keys.verify(account, bucket, key.value)).valid,
    errorWhenRepeated: "ConsumerNotFound"
  },
  "consumers.rollKey": {
    run: ({ gate }) => gate.consumers.rollKey(account, bucket, "alice", { expiresOn: expiry }, idempotency),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "alice")).total === 2
  },
  "keys.list": { run: ({ gate }) => gate.keys.list(account, bucket, "alice") },
  "keys.get": { run: ({ gate, key }) => gate.keys.get(account, bucket, "alice", key.id) },
  "keys.verify": { run: ({ gate, key }) => gate.keys.verify(account, bucket, key.value) },
  "keys.create": {
    run: ({ gate }) => gate.keys.create(account, bucket, "alice", {}, idempotency),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "alice")).total === 2
  },
  "keys.createMany": {
    run: ({ gate }) => gate.keys.createMany(account, bucket, "alice", [{}, {}, {}], idempotency),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "alice")).total === 4
  },
  "keys.update": {
    run: ({ gate, key }) => gate.keys.update(account, bucket, "alice", key.id, { description: "new" }),
    isDone: async ({ gate, key }) => (await gate.keys.get(account, bucket, "alice", key.id)).description === "new"
  },
  "keys.remove": {
    run: ({ gate, key }) => gate.keys.remove(account, bucket, "alice", key.id),
    isDone: async ({ gate, key }) => !(await gate.keys.verify(account, bucket, key.value)).valid,
    errorWhenRepeated: "KeyNotFound"
  },
  "meteringBuckets.list": { run: ({ gate }) => gate.meteringBuckets.list(account) },
  "meteringBuckets.get": { run: ({ gate, bucketId }) => gate.meteringBuckets.get(bucketId) },
  "meteringBuckets.create": {
    run: ({ gate }) => gate.meteringBuckets.create(account, idempotency),
    isDone: async ({ gate }) => (await gate.meteringBuckets.list(account)).total === 2,
    isMultiStep: true
  },
  "meteringBuckets.remove": {
    run: ({ gate, bucketId }) => gate.meteringBuckets.remove(bucketId),
    isDone: async ({ gate }) => (await gate.meteringBuckets.list(account)).total === 0,
    isMultiStep: true,
    errorWhenRepeated: "MeteringBucketNotFound"
  },
  "plans.list": { run: ({ gate, bucketId }) => gate.plans.list(bucketId) },
  "plans.get": { run: ({ gate, bucketId, planId }) => gate.plans.get(bucketId, planId) },
  "plans.create": {
    run: ({ gate, bucketId }) =>
      gate.plans.create(
        bucketId,
        { label: "Free", planExternalId: "free", meters: { requests: { max: 1 } } },
        idempotency
      ),
    isDone: async ({ gate, bucketId }) => (await gate.plans.list(bucketId)).total === 2
  },
  "plans.update": {
    run: ({ gate, bucketId, planId }) => gate.plans.update(bucketId, planId, { label: "Other" }),
    isDone: async ({ gate, bucketId, planId }) => (await gate.plans.get(bucketId, planId)).label === "Other"
  },
  "plans.remove of a plan in use": {
    run: ({ gate, bucketId, planId }) =>
      gate.plans.remove(bucketId, planId).catch((error) => {
        if (!hasTag(error, "PlanInUse")) throw error
      })
  },
  "subscriptions.list": { run: ({ gate, bucketId }) => gate.subscriptions.list(bucketId, { status: "active" }) },
  "subscriptions.get": {
    run: ({ gate, bucketId, subscriptionId }) => gate.subscriptions.get(bucketId, subscriptionId)
  },
  "subscriptions.create": {
    run: ({ gate, bucketId, planId }) =>
      gate.subscriptions.create(bucketId, makeProSubscription(planId, "s-2"), idempotency),
    isDone: async ({ gate, bucketId }) => (await gate.subscriptions.list(bucketId)).total === 2
  },
  "subscriptions.update": {
    run: ({ gate, bucketId, subscriptionId }) =>
      gate.subscriptions.update(bucketId, subscriptionId, { status: "past-due" }),
    isDone: async ({ gate, bucketId, subscriptionId }) =>
      (await gate.subscriptions.get(bucketId, subscriptionId)).status === "past-due"
  },
  "subscriptions.remove": {
    run: ({ gate, bucketId, subscriptionId }) => gate.subscriptions.remove(bucketId, subscriptionId),
    isDone: ({ gate, bucketId, subscriptionId }) =>
      failsWith(gate.subscriptions.get(bucketId, subscriptionId), "SubscriptionNotFound"),
    errorWhenRepeated: "SubscriptionNotFound"
  },
  "usage.quotas": { run: ({ gate, bucketId, subscriptionId }) => gate.usage.quotas(bucketId, subscriptionId) },
  "usage.consume": {
    run: ({ gate, bucketId, subscriptionId }) =>
      gate.usage.consume(bucketId, subscriptionId, { requests: 3 }, idempotency),
    isDone: async ({ gate, bucketId, subscriptionId }) =>
      (await gate.usage.quotas(bucketId, subscriptionId)).meters["requests"]?.used === 3
  },
  authorize: {
    run: ({ gate, bucketId, key }) =>
      gate.authorize({
        account,
        bucket,
        key: key.value,
        metering: { meteringBucketId: bucketId, meters: { requests: 1 } }
      }),
    // Without an idempotency key, a repeated call counts the use again if the first reply was lost.
    isDone: async ({ gate, bucketId, subscriptionId }) =>
      ((await gate.usage.quotas(bucketId, subscriptionId)).meters["requests"]?.used ?? 0) >= 1
  },
  "deployments.list": { run: ({ gate }) => gate.deployments.list(account, "web") },
  "deployments.get": { run: ({ gate, deployment }) => gate.deployments.get(deployment) },
  "deployments.status": { run: ({ gate, statusId }) => gate.deployments.status(account, "web", statusId) },
  "deployments.createSource": {
    run: ({ gate }) =>
      gate.deployments.createSource({ accountName: account, projectName: "web", branchName: "x" }, idempotency),
    // The same idempotency key returns the same URL, whether or not the first reply was lost.
    isDone: async ({ gate }) => {
      const createSource = () =>
        gate.deployments.createSource({ accountName: account, projectName: "web", branchName: "x" }, idempotency)
      const [first, second] = [await createSource(), await createSource()]
      return first.uploadUrl === second.uploadUrl
    }
  },
  "deployments.upload": {
    run: ({ gate, uploadUrl }) => gate.deployments.upload(uploadUrl, new Uint8Array(10)),
    isDone: async ({ gate }) => (await gate.deployments.list(account, "other")).total === 1,
    isMultiStep: true,
    errorWhenRepeated: "AlreadyUploaded"
  },
  "deployments.upload of a second version": {
    run: ({ gate, nextUrl }) => gate.deployments.upload(nextUrl, new Uint8Array(10)),
    isDone: ({ gate, nextUrl }) => failsWith(gate.deployments.upload(nextUrl, new Uint8Array(10)), "AlreadyUploaded"),
    isMultiStep: true,
    errorWhenRepeated: "AlreadyUploaded"
  },
  "deployments.remove": {
    run: ({ gate, deployment }) => gate.deployments.remove(deployment),
    isDone: ({ gate, deployment }) => failsWith(gate.deployments.get(deployment), "DeploymentNotFound"),
    isMultiStep: true,
    errorWhenRepeated: "DeploymentNotFound"
  }
}

/** Creates every record that an operation may need, in an empty store that can be made to fail. */
export const makeFixture = async (emptyStore: StoreOperations) => {
  const { store: watched, state } = StoreState.watch(emptyStore)
  const { store, injectAt, calls } = makeFaultyStore(watched)
  let isStalled = false
  const target = { ...memoryTarget(), check: () => (isStalled ? Effect.never : Effect.void) }
  const deployments = { sources: memorySourceStore(), target }
  const gate = await createTollgate({ store, secret, publicUrl: "http://gate", deployments })
  const alice = await gate.consumers.create(
    account,
    bucket,
    { name: "alice", tags: { team: "blue" } },
    { withApiKey: true }
  )
  const { id: bucketId } = await gate.meteringBuckets.create(account)
  const plan = await gate.plans.create(bucketId, {
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: 10 } }
  })
  const { id: subscriptionId } = await gate.subscriptions.create(bucketId, makeProSubscription(plan.id, "s-1"))
  const branch = { accountName: account, projectName: "web", branchName: "main" }
  const first = await gate.deployments.createSource(branch)
  const { id: statusId } = await gate.deployments.upload(first.uploadUrl, new Uint8Array(5))
  await expect
    .poll(async () => (await gate.deployments.status(account, "web", statusId)).status, {
      interval: 5,
      timeout: 30_000
    })
    .toBe("SUCCESS")
  // From here on, runs never finish, so that operations are tested during a run.
  isStalled = true
  const { uploadUrl } = await gate.deployments.createSource({ ...branch, projectName: "other" })
  const { uploadUrl: nextUrl } = await gate.deployments.createSource(branch)
  const [deployment] = (await gate.deployments.list(account, "web")).data
  const [key] = alice.apiKeys ?? []
  const fixture: Fixture = {
    gate,
    bucketId,
    planId: plan.id,
    subscriptionId,
    key: { id: key?.id ?? "", value: key?.key ?? "" },
    deployment: deployment?.name ?? "",
    statusId,
    uploadUrl,
    nextUrl
  }
  return { fixture, injectAt, calls, hash: () => Effect.runPromise(state.hash) }
}
