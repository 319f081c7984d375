/**
 * Processes that deploy, for tests: real services over one store, on the test's clock.
 */
import { assert } from "@effect/vitest"
import {
  AccountName,
  BranchName,
  Change,
  Deployments,
  type DeploymentTarget,
  memorySourceStore,
  Partition,
  ProjectName,
  type ServiceOptions,
  Store,
  type StoreOperations,
  StoreUnavailable,
  Tollgate,
  Uploads
} from "@tollgate/core"
import { Clock, Context, Effect, Exit, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { secret } from "./stores.ts"

export const project = { accountName: AccountName.make("acme"), projectName: ProjectName.make("web") }
export const branch = { ...project, branchName: BranchName.make("main") }
export const content = Stream.succeed(new TextEncoder().encode("a source"))

export interface ProcessOptions extends Partial<Pick<ServiceOptions, "secret" | "limits">> {
  /** Milliseconds by which the process's wall clock is ahead of the test's. */
  readonly clockOffset?: number
  readonly sourceLimit?: number
}

/** A clock that shows another time, and runs alike. */
const offsetBy = (clock: Clock.Clock, offset: number): Clock.Clock => {
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

/** A process of its own: its services live until the scope is closed. */
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
      deployments: { sources, target, sourceLimit },
      ...options
    })
    const clock = yield* Clock.Clock
    const context = yield* Layer.buildWithScope(Layer.provide(services, Layer.succeed(Store, store)), scope).pipe(
      Effect.provideService(Clock.Clock, offsetBy(clock, clockOffset))
    )
    return {
      deployments: Context.get(context, Deployments),
      uploads: Context.get(context, Uploads),
      stop: Scope.close(scope, Exit.void)
    }
  })

export const addressOf = (uploadUrl: string) => {
  const { pathname, searchParams } = new URL(uploadUrl)
  return {
    id: pathname.split("/").at(-1)?.replace(".tar.gz", "") ?? "",
    expires: searchParams.get("expires") ?? "",
    signature: searchParams.get("signature") ?? ""
  }
}

export const upload = (uploads: Uploads["Service"]) =>
  Effect.gen(function* () {
    const { uploadUrl } = yield* uploads.create(branch)
    return (yield* uploads.receive(addressOf(uploadUrl), content)).id
  })

/** Lets everything run that can run without time passing. */
export const settled = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Waits, in steps of the test's clock, until something holds. */
export const eventually = <A, E, R>(read: Effect.Effect<A, E, R>, holds: (value: A) => boolean) =>
  Effect.gen(function* () {
    for (let step = 0; step < 500; step++) {
      const value = yield* read
      if (holds(value)) return value
      yield* settled
      if (step % 10 === 9) yield* TestClock.adjust("1 second")
    }
    return assert.fail("it never came to hold")
  })

/** Waits, while the test's clock stands still, until something holds. */
export const untilSettled = (holds: () => boolean) => Effect.repeat(settled, { until: () => holds(), times: 1_000 })

/** Waits, while the test's clock stands still, until a run has ended well. */
export const succeeded = (deployments: Deployments["Service"], id: string) =>
  Effect.gen(function* () {
    for (let step = 0; step < 1_000; step++) {
      if ((yield* deployments.status(project, id)).value.status === "SUCCESS") return
      yield* settled
    }
    return assert.fail("the run did not succeed")
  })

/** A process that can lose its store, as if it were paused or cut off; and find it again. */
export const mortal = (
  store: StoreOperations,
  target: DeploymentTarget,
  sources: ReturnType<typeof memorySourceStore>
) =>
  Effect.gen(function* () {
    let isDead = false
    const gone = new StoreUnavailable({
      operation: "commit",
      problem: "cut off",
      retryable: true,
      outcome: "not-applied"
    })
    const cut: StoreOperations = {
      ...store,
      commit: (...given) => Effect.suspend(() => (isDead ? Effect.fail(gone) : store.commit(...given)))
    }
    const die = () => {
      isDead = true
    }
    const revive = () => {
      isDead = false
    }
    return { ...(yield* startProcess(cut, target, sources)), die, revive }
  })

/** A deployment as versions wrote it whose names ended in seven digits of a hash. */
export const writeEarlierDeployment = (
  store: StoreOperations,
  branch: { readonly accountName: string; readonly projectName: string; readonly branchName: string },
  name: string
) => {
  const put = (collection: string, key: string, body: object) =>
    Change.Put({
      key: `${collection}/${key}`,
      expect: 0,
      body: `1 ${JSON.stringify(body)}`,
      indexTerms: [collection],
      uniqueKeys: []
    })
  const at = "2026-01-01T00:00:00.000Z"
  const latest = "00000000-0000-4000-8000-000000000000"
  const deployment = { ...branch, name, createdOn: at, updatedOn: at, message: "", latest, served: `${name}.x.1` }
  return Effect.andThen(
    store.commit(Partition.deploymentDirectory, [put("name", name, { ...branch, name })]),
    store.commit(Partition.deployments(branch.accountName, branch.projectName), [put("deployment", name, deployment)])
  )
}
