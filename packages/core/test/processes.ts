/**
 * Simulated processes for deployment tests: real services on a shared store, driven by the test clock.
 */
import { assert } from "@effect/vitest"
import { AccountName, type ServiceOptions, Tollgate } from "@tollgate/core/effect"
import {
  BranchName,
  Deployments,
  type DeploymentTarget,
  deployments,
  memorySourceStore,
  ProjectName,
  Uploads
} from "@tollgate/deployments"
import { Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { Clock, Context, Deferred, Effect, Exit, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { BackgroundClock } from "../src/jobs/BackgroundClock.ts"
import { secret } from "./stores.ts"

export const project = { accountName: AccountName.make("acme"), projectName: ProjectName.make("web") }
export const branch = { ...project, branchName: BranchName.make("main") }
export const content = Stream.succeed(new TextEncoder().encode("a source"))

export interface ProcessOptions extends Partial<Pick<ServiceOptions, "secret" | "limits">> {
  /** How far the process's wall clock is ahead of the test clock, in milliseconds. */
  readonly clockOffset?: number
  readonly sourceLimit?: number
}

/** Shifts the wall clock. Leaves the monotonic clock unchanged. */
const offsetClock = (clock: Clock.Clock, offset: number): Clock.Clock => {
  const currentTimeMillisUnsafe = () => clock.currentTimeMillisUnsafe() + offset
  const currentTimeNanosUnsafe = () => clock.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n
  return {
    currentTimeMillisUnsafe,
    currentTimeNanosUnsafe,
    currentTimeMillis: Effect.sync(currentTimeMillisUnsafe),
    currentTimeNanos: Effect.sync(currentTimeNanosUnsafe),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
}

/** Starts a process. Its services stop when the scope closes, or with `stop`. */
export const startProcess = (
  store: StoreOperations,
  target: DeploymentTarget,
  sources = memorySourceStore(),
  { clockOffset = 0, sourceLimit = 1_000_000, ...options }: ProcessOptions = {}
) =>
  Effect.gen(function* () {
    const scope = Scope.makeUnsafe()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    const services = Tollgate.layer({
      secret,
      publicUrl: "http://gate",
      modules: [deployments({ sources, target, sourceLimit })],
      ...options
    })
    const clock = yield* Clock.Clock
    const context = yield* Layer.buildWithScope(Layer.provide(services, Layer.succeed(Store, store)), scope).pipe(
      Effect.provideService(BackgroundClock, clock),
      Effect.provideService(Clock.Clock, offsetClock(clock, clockOffset))
    )
    return {
      deployments: Context.get(context, Deployments),
      uploads: Context.get(context, Uploads),
      stop: Scope.close(scope, Exit.void)
    }
  })

const parseUploadUrl = (uploadUrl: string) => {
  const { pathname, searchParams } = new URL(uploadUrl)
  return {
    id: pathname.split("/").at(-1)?.replace(".tar.gz", "") ?? "",
    expires: searchParams.get("expires") ?? "",
    signature: searchParams.get("signature") ?? ""
  }
}

/** Creates an upload URL, and returns its parts. */
export const createUploadUrl = (uploads: Uploads["Service"], target: typeof branch = branch) =>
  Effect.map(uploads.createSource({ payload: target }), ({ uploadUrl }) => parseUploadUrl(uploadUrl))

export const upload = (uploads: Uploads["Service"]) =>
  Effect.gen(function* () {
    return (yield* uploads.receive(yield* createUploadUrl(uploads), content)).id
  })

export const getStatus = (
  deployments: Deployments["Service"],
  statusId: string,
  { accountName, projectName }: typeof project = project
) => deployments.status({ params: { accountName, projectName, statusId } })

export const listDeployments = (
  deployments: Deployments["Service"],
  { accountName, projectName }: typeof project = project
) => deployments.list({ params: { accountName, projectName }, query: { limit: 10, offset: 0 } })

/** Runs all fibers that are ready, without advancing the clock. */
export const flushEventLoop = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** How long to wait for work that takes place in real time: a retry after a conflict is delayed by some milliseconds. */
const maxWaitMs = 60_000

/** Polls until the condition holds, and advances the test clock, by 50 seconds at most. */
export const eventually = <A, E, R>(read: Effect.Effect<A, E, R>, condition: (value: A) => boolean) =>
  Effect.gen(function* () {
    const deadline = performance.now() + maxWaitMs
    for (let step = 0; performance.now() < deadline; step++) {
      const value = yield* read
      if (condition(value)) return value
      yield* flushEventLoop
      if (step % 10 === 9 && step < 500) yield* TestClock.adjust("1 second")
    }
    return assert.fail("The condition did not become true")
  })

/** Waits until the condition holds, without advancing the test clock. */
export const waitUntil = (condition: () => boolean) =>
  Effect.suspend(() => {
    const deadline = performance.now() + maxWaitMs
    return Effect.repeat(flushEventLoop, { until: () => condition() || performance.now() > deadline })
  })

/**
 * An effect to interleave with the store calls of another, and its end, for which a test must wait: it may have begun at a
 * call of a background job.
 */
export const makeInterleaved = (effect: Effect.Effect<unknown>) =>
  Effect.map(Deferred.make<void>(), (done) => ({
    interleave: Effect.ensuring(effect, Deferred.succeed(done, undefined)),
    ended: Deferred.await(done)
  }))

/** Waits until a run has succeeded, without advancing the test clock. */
export const waitForSuccess = (deployments: Deployments["Service"], id: string) =>
  Effect.gen(function* () {
    const deadline = performance.now() + maxWaitMs
    while (performance.now() < deadline) {
      if ((yield* getStatus(deployments, id)).value.status === "SUCCESS") return
      yield* flushEventLoop
    }
    return assert.fail("The run did not succeed")
  })

/** Starts a process that can lose its store connection, as if it had died or were paused, and regain it. */
export const startDisconnectableProcess = (
  store: StoreOperations,
  target: DeploymentTarget,
  sources: ReturnType<typeof memorySourceStore>
) =>
  Effect.gen(function* () {
    let isDisconnected = false
    const unavailable = new StoreUnavailable({
      operation: "commit",
      problem: "disconnected",
      retryable: true,
      outcome: "not-applied"
    })
    const interruptible: StoreOperations = {
      ...store,
      commit: (...args) => Effect.suspend(() => (isDisconnected ? Effect.fail(unavailable) : store.commit(...args)))
    }
    const disconnect = () => {
      isDisconnected = true
    }
    const reconnect = () => {
      isDisconnected = false
    }
    return { ...(yield* startProcess(interruptible, target, sources)), disconnect, reconnect }
  })
