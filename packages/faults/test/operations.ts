/**
 * Every operation of every service, in a world where it has something to do, over a store that can be let down.
 */
import { createTollgate, memorySourceStore, memoryTarget, type StoreOperations, type Tollgate } from "@tollgate/core"
import { makeFaultyStore, StoreState } from "@tollgate/store-testkit"
import { makeSubscription } from "@tollgate/testing"
import { Effect } from "effect"
import { expect } from "vitest"
import { secret } from "./stores.ts"

export interface World {
  readonly gate: Tollgate
  readonly bucketId: string
  readonly planId: string
  readonly subscriptionId: string
  readonly key: { readonly id: string; readonly value: string }
  readonly deployment: string
  readonly statusId: string
  readonly uploadUrl: string
  /** For a next version of the deployment. */
  readonly nextUrl: string
}

/** What an operation does, and how to tell that it is done. */
export interface Operation {
  readonly run: (world: World) => Promise<unknown>
  readonly isDone?: (world: World) => Promise<boolean>
  /** Made of several steps, each of which is finished by the next call. */
  readonly inSteps?: true
  /** What a repetition is told when the first one was done and nobody knew. */
  readonly whenRepeated?: string
}

const [account, bucket] = ["acme", "b"]
const is = (error: unknown, tag: string): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === tag
const gone = (read: Promise<unknown>, tag: string): Promise<boolean> =>
  read.then(
    () => false,
    (error) => is(error, tag)
  )
const once = { idempotencyKey: "once" }
const later = "2031-01-01T00:00:00.000Z"
const subscription = (planId: string, subscriptionExternalId: string) =>
  makeSubscription(planId, "pro", { subscriptionExternalId })

export const operations: Readonly<Record<string, Operation>> = {
  "consumers.list": { run: ({ gate }) => gate.consumers.list(account, bucket, { apiKeys: true }) },
  "consumers.get": { run: ({ gate }) => gate.consumers.get(account, bucket, "alice", { apiKeys: true }) },
  "consumers.create": {
    run: ({ gate }) => gate.consumers.create(account, bucket, { name: "bob" }, { withApiKey: true, ...once }),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "bob").catch(() => ({ total: 0 }))).total === 1
  },
  "consumers.update": {
    run: ({ gate }) => gate.consumers.update(account, bucket, "alice", { tags: { team: "red" } }),
    isDone: async ({ gate }) => (await gate.consumers.list(account, bucket, { tags: { team: "red" } })).total === 1
  },
  "consumers.remove": {
    run: ({ gate }) => gate.consumers.remove(account, bucket, "alice"),
    isDone: async ({ gate, key }) =>
      (await gone(gate.consumers.get(account, bucket, "alice"), "ConsumerNotFound")) &&
      !(await gate.keys.verify(account, bucket, key.value)).valid,
    whenRepeated: "ConsumerNotFound"
  },
  "consumers.rollKey": {
    run: ({ gate }) => gate.consumers.rollKey(account, bucket, "alice", { expiresOn: later }, once),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "alice")).total === 2
  },
  "keys.list": { run: ({ gate }) => gate.keys.list(account, bucket, "alice") },
  "keys.get": { run: ({ gate, key }) => gate.keys.get(account, bucket, "alice", key.id) },
  "keys.verify": { run: ({ gate, key }) => gate.keys.verify(account, bucket, key.value) },
  "keys.create": {
    run: ({ gate }) => gate.keys.create(account, bucket, "alice", {}, once),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "alice")).total === 2
  },
  "keys.createMany": {
    run: ({ gate }) => gate.keys.createMany(account, bucket, "alice", [{}, {}, {}], once),
    isDone: async ({ gate }) => (await gate.keys.list(account, bucket, "alice")).total === 4
  },
  "keys.update": {
    run: ({ gate, key }) => gate.keys.update(account, bucket, "alice", key.id, { description: "new" }),
    isDone: async ({ gate, key }) => (await gate.keys.get(account, bucket, "alice", key.id)).description === "new"
  },
  "keys.remove": {
    run: ({ gate, key }) => gate.keys.remove(account, bucket, "alice", key.id),
    isDone: async ({ gate, key }) => !(await gate.keys.verify(account, bucket, key.value)).valid,
    whenRepeated: "KeyNotFound"
  },
  "buckets.list": { run: ({ gate }) => gate.meteringBuckets.list(account) },
  "buckets.get": { run: ({ gate, bucketId }) => gate.meteringBuckets.get(bucketId) },
  "buckets.create": {
    run: ({ gate }) => gate.meteringBuckets.create(account, once),
    isDone: async ({ gate }) => (await gate.meteringBuckets.list(account)).total === 2,
    inSteps: true
  },
  "buckets.remove": {
    run: ({ gate, bucketId }) => gate.meteringBuckets.remove(bucketId),
    isDone: async ({ gate }) => (await gate.meteringBuckets.list(account)).total === 0,
    inSteps: true,
    whenRepeated: "MeteringBucketNotFound"
  },
  "plans.list": { run: ({ gate, bucketId }) => gate.plans.list(bucketId) },
  "plans.get": { run: ({ gate, bucketId, planId }) => gate.plans.get(bucketId, planId) },
  "plans.create": {
    run: ({ gate, bucketId }) =>
      gate.plans.create(bucketId, { label: "Free", planExternalId: "free", meters: { requests: { max: 1 } } }, once),
    isDone: async ({ gate, bucketId }) => (await gate.plans.list(bucketId)).total === 2
  },
  "plans.update": {
    run: ({ gate, bucketId, planId }) => gate.plans.update(bucketId, planId, { label: "Other" }),
    isDone: async ({ gate, bucketId, planId }) => (await gate.plans.get(bucketId, planId)).label === "Other"
  },
  "plans.remove, of one in use": {
    run: ({ gate, bucketId, planId }) =>
      gate.plans.remove(bucketId, planId).catch((error) => {
        if (!is(error, "PlanInUse")) throw error
      })
  },
  "subscriptions.list": { run: ({ gate, bucketId }) => gate.subscriptions.list(bucketId, { status: "active" }) },
  "subscriptions.get": {
    run: ({ gate, bucketId, subscriptionId }) => gate.subscriptions.get(bucketId, subscriptionId)
  },
  "subscriptions.create": {
    run: ({ gate, bucketId, planId }) => gate.subscriptions.create(bucketId, subscription(planId, "s-2"), once),
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
      gone(gate.subscriptions.get(bucketId, subscriptionId), "SubscriptionNotFound"),
    whenRepeated: "SubscriptionNotFound"
  },
  "usage.quotas": { run: ({ gate, bucketId, subscriptionId }) => gate.usage.quotas(bucketId, subscriptionId) },
  "usage.consume": {
    run: ({ gate, bucketId, subscriptionId }) => gate.usage.consume(bucketId, subscriptionId, { requests: 3 }, once),
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
    // Without an idempotency key, a use whose answer was lost is counted again when it is repeated.
    isDone: async ({ gate, bucketId, subscriptionId }) =>
      ((await gate.usage.quotas(bucketId, subscriptionId)).meters["requests"]?.used ?? 0) >= 1
  },
  "deployments.list": { run: ({ gate }) => gate.deployments.list(account, "web") },
  "deployments.get": { run: ({ gate, deployment }) => gate.deployments.get(deployment) },
  "deployments.status": { run: ({ gate, statusId }) => gate.deployments.status(account, "web", statusId) },
  "deployments.createSource": {
    run: ({ gate }) =>
      gate.deployments.createSource({ accountName: account, projectName: "web", branchName: "x" }, once),
    // The same key gives the same address, whether or not the first answer arrived.
    isDone: async ({ gate }) => {
      const ask = () =>
        gate.deployments.createSource({ accountName: account, projectName: "web", branchName: "x" }, once)
      const [first, second] = [await ask(), await ask()]
      return first.uploadUrl === second.uploadUrl
    }
  },
  "deployments.upload": {
    run: ({ gate, uploadUrl }) => gate.deployments.upload(uploadUrl, new Uint8Array(10)),
    isDone: async ({ gate }) => (await gate.deployments.list(account, "other")).total === 1,
    inSteps: true,
    whenRepeated: "AlreadyUploaded"
  },
  "deployments.upload, of a next version": {
    run: ({ gate, nextUrl }) => gate.deployments.upload(nextUrl, new Uint8Array(10)),
    isDone: ({ gate, nextUrl }) => gone(gate.deployments.upload(nextUrl, new Uint8Array(10)), "AlreadyUploaded"),
    inSteps: true,
    whenRepeated: "AlreadyUploaded"
  },
  "deployments.remove": {
    run: ({ gate, deployment }) => gate.deployments.remove(deployment),
    isDone: ({ gate, deployment }) => gone(gate.deployments.get(deployment), "DeploymentNotFound"),
    inSteps: true,
    whenRepeated: "DeploymentNotFound"
  }
}

/** A world in an empty store, in which everything is there that an operation may need; the store can be made to fail. */
export const makeWorld = async (empty: StoreOperations) => {
  const { store: watched, state } = StoreState.watch(empty)
  const { store, injectAt, calls } = makeFaultyStore(watched)
  let isSlow = false
  const target = { ...memoryTarget(), check: () => (isSlow ? Effect.never : Effect.void) }
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
  const { id: subscriptionId } = await gate.subscriptions.create(bucketId, subscription(plan.id, "s-1"))
  const branch = { accountName: account, projectName: "web", branchName: "main" }
  const first = await gate.deployments.createSource(branch)
  const { id: statusId } = await gate.deployments.upload(first.uploadUrl, new Uint8Array(5))
  await expect
    .poll(async () => (await gate.deployments.status(account, "web", statusId)).status, { interval: 5 })
    .toBe("SUCCESS")
  // From here on, no run comes to its end: one that is still running is the harder case.
  isSlow = true
  const { uploadUrl } = await gate.deployments.createSource({ ...branch, projectName: "other" })
  const { uploadUrl: nextUrl } = await gate.deployments.createSource(branch)
  const [deployment] = (await gate.deployments.list(account, "web")).data
  const [key] = alice.apiKeys ?? []
  const world: World = {
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
  return { world, injectAt, calls, hash: () => Effect.runPromise(state.hash) }
}
