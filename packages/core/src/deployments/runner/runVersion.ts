/**
 * One run over one version: its steps in their order, each recorded when it starts and ends, under a lease that is
 * renewed all the while. Whoever loses the lease stops.
 */
import { Cause, type DateTime, Effect, Exit, Fiber, Option, Stream } from "effect"
import { logFailure } from "../../runtime/logFailure.ts"
import type * as Partition from "../../store/Partition.ts"
import { Change, Store } from "../../store/Store.ts"
import type { DeploymentMessage } from "../model/Deployment.ts"
import {
  artifactId,
  deployments,
  ofDeployment,
  partitionOf,
  releaseId,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { isReleaseWanted } from "../model/findDeployment.ts"
import * as Transitions from "../model/versionTransitions.ts"
import type { DeploymentConfigShape } from "../ports/DeploymentConfig.ts"
import { type Release, StepFailed } from "../ports/DeploymentTarget.ts"
import * as Lease from "./Lease.ts"
import { logLines } from "./logLines.ts"
import type { WaitingRun } from "./RunQueue.ts"

/** A run whose lease has lapsed this often is ended: it is taken over once. */
const maxExpiredLeases = 2

/** How many versions of a deployment are remembered. */
const keptVersions = 10

/** Every run has an end, whatever its target does. */
const maxRunDuration = "1 hour"

/** Removes a release unless somebody makes or serves it. */
const discard = ({ target }: DeploymentConfigShape, releaseId: string) =>
  logFailure(
    "Removing a release",
    Effect.flatMap(isReleaseWanted(releaseId), (isWanted) =>
      isWanted ? Effect.void : (target.discard?.(releaseId) ?? Effect.void)
    )
  )

/** Forgets the sources of versions that a later one has replaced, and the oldest versions, or all of them, whole. */
export const pruneVersions = Effect.fnUntraced(
  function* ({ sources }: DeploymentConfigShape, partition: Partition.Partition, name: string) {
    const store = yield* Store
    // In this order: a version that comes after the list is not in it, and the deployment then says that it changed.
    const { entries, total } = yield* versions.page(partition, { where: [ofDeployment(name)], offset: 0, limit: 100 })
    const deployment = yield* deployments.get(partition, name)
    const latest = Option.isSome(deployment) ? deployment.value.value.latest : undefined
    const unchanged = Option.isSome(deployment)
      ? deployments.assertUnchanged(deployment.value)
      : Change.Check({ key: deployments.recordKey(name), expect: 0 })
    for (const [index, entry] of entries.entries()) {
      const { id, source, ...version } = entry.value
      const isForgotten = latest === undefined || index < total - keptVersions
      if (id === latest || (source === undefined && !isForgotten)) continue
      const change = isForgotten ? versions.remove(entry) : versions.replace(entry, { id, ...version })
      yield* store.commit(partition, [unchanged, change])
      if (source !== undefined) yield* sources.remove(source)
    }
  },
  Effect.catchTag("StoreConflict", () => Effect.void)
)

/**
 * Runs a target's step to its end, which is a failure also if the target throws, dies, or interrupts itself. The step has
 * a fiber of its own, so that the interruption of the run is told from one that the target made.
 */
const runStep = Effect.fnUntraced(function* <A>(name: Transitions.RunStep, work: () => Effect.Effect<A, StepFailed>) {
  const fiber = yield* Effect.forkChild(Effect.suspend(work))
  const exit = yield* Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.squash(exit.cause)
  if (error instanceof StepFailed) return yield* error
  yield* Effect.logError(`The step ${name} of a deployment failed`, exit.cause)
  return yield* new StepFailed({ problem: "something went wrong on the server; its log says what" })
})

/** Runs a version from its start, if nobody else does. */
export const runVersion = Effect.fnUntraced(function* (
  hosting: DeploymentConfigShape,
  waiting: WaitingRun,
  holder: string
) {
  const { project, id, lapsedVersion } = waiting
  const taken = yield* Lease.acquire(partitionOf(project), id, holder, lapsedVersion)
  if (Option.isNone(taken)) return
  const lease = taken.value
  yield* runWithLease(hosting, lease).pipe(
    Effect.catchTag("LeaseLost", () => discard(hosting, releaseId(lease.version))),
    Effect.andThen(
      logFailure("Forgetting old versions", pruneVersions(hosting, lease.partition, lease.version.deployment))
    ),
    Effect.onInterrupt(() => Lease.release(lease))
  )
})

const runWithLease = Effect.fnUntraced(function* (hosting: DeploymentConfigShape, lease: Lease.Lease) {
  const { target, sources, productionBranch } = hosting
  const { version, partition } = lease
  const log = logLines(version.buildResult.log)
  const withLog = (current: Version): Version => ({
    ...current,
    buildResult: { ...current.buildResult, log: log.lines() }
  })
  const record = (change: (version: Version, now: DateTime.Utc) => Version) =>
    Lease.update(lease, (current, now) => withLog(change(current, now)))

  const fail = (message: DeploymentMessage, problem: string, exitCode?: number) =>
    Effect.gen(function* () {
      log.add(problem)
      yield* Lease.complete(
        lease,
        (current, now) => withLog(Transitions.fail(current, problem, now, exitCode)),
        (deployment, updatedOn) => ({ ...deployment, message, updatedOn })
      )
      yield* discard(hosting, releaseId(version))
    })

  const found = yield* deployments.get(partition, version.deployment)
  if (Option.isNone(found)) return yield* new Lease.LeaseLost()
  const { accountName, projectName, branchName, name } = found.value.value
  if ((version.run?.lapses ?? 0) >= maxExpiredLeases) {
    return yield* fail(
      "interrupted",
      `its run was cut off ${maxExpiredLeases} times; deploy again, or look at the server`
    )
  }

  const release: Release = {
    id: releaseId(version),
    deployment: {
      name,
      accountName,
      projectName,
      branchName,
      environmentType: branchName === productionBranch ? "PRODUCTION" : "PREVIEW"
    },
    source: Stream.suspend(() =>
      version.source === undefined ? Stream.die("a version that is run has its source") : sources.open(version.source)
    ),
    log: log.add
  }

  const beginStep = <A>(name: Transitions.RunStep, work: () => Effect.Effect<A, StepFailed>) =>
    Effect.andThen(
      record((current, now) => Transitions.startStep(current, name, now)),
      Effect.mapError(
        runStep(name, work),
        ({ problem, exitCode }) => ({ _tag: "Failed", step: name, problem, exitCode }) as const
      )
    )

  /** Runs a step that the target has, and records how it ended. */
  const step = (
    name: Transitions.RunStep,
    work: (() => Effect.Effect<Transitions.Outcome | "skipped", StepFailed>) | undefined
  ) =>
    Effect.gen(function* () {
      const outcome = work === undefined ? "skipped" : yield* beginStep(name, work)
      yield* record((current, now) =>
        outcome === "skipped"
          ? Transitions.skipStep(current, name)
          : Transitions.finishStep(current, name, now, outcome)
      )
    })

  const steps = Effect.gen(function* () {
    const [unpack, build, check] = [target.unpack?.bind(target), target.build?.bind(target), target.check?.bind(target)]
    yield* step("unpack", unpack && (() => unpack(release)))
    yield* step("build", build && (() => build(release)))
    yield* step("check", check && (() => Effect.as(check(release), {})))
    yield* beginStep("publish", () => target.publish(release))
    log.add("Published")
    const before = yield* Lease.complete(
      lease,
      (current, now) => withLog(Transitions.succeed(current, now)),
      (deployment, updatedOn) => ({ ...deployment, message: "", updatedOn, served: release.id })
    )
    if (before?.served !== undefined) yield* discard(hosting, before.served)
  })

  /** Shows new lines within a second, and renews the lease in time. */
  const heartbeat = Effect.gen(function* () {
    for (let beat = 1; ; beat++) {
      yield* Effect.sleep("1 second")
      if (log.hasNews() || beat % Lease.renewal === 0) yield* record((current) => current)
    }
  })

  if (version.attempt > 1) yield* discard(hosting, artifactId(version, version.attempt - 1))
  yield* Effect.raceFirst(steps, heartbeat).pipe(
    Effect.timeoutOrElse({
      duration: maxRunDuration,
      orElse: () => fail("interrupted", "it took longer than an hour")
    }),
    Effect.catchTag("Failed", ({ step, problem, exitCode }) =>
      fail(Transitions.failureMessages[step], problem, exitCode)
    )
  )
})
