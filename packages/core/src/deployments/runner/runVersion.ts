/**
 * Runs one version: executes its steps in order and records when each starts and ends. A heartbeat renews the lease;
 * the run stops when it loses the lease.
 */
import { Cause, type DateTime, Effect, Exit, Fiber, Option, Stream } from "effect"
import { Limits } from "../../accounts/limits/Limits.ts"
import { runBestEffort } from "../../runtime/runBestEffort.ts"
import { withSafeSpan } from "../../runtime/withSafeSpan.ts"
import type * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Change, Store } from "../../store/Store.ts"
import type { StoreError } from "../../store/StoreError.ts"
import type { DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import { recordDeploymentEvent } from "../config/recordDeploymentEvent.ts"
import { addHeldBytes, countHeldBytes } from "../model/countHeldBytes.ts"
import type { DeploymentMessage } from "../model/Deployment.ts"
import {
  artifactId,
  byDeployment,
  deployments,
  projectPartition,
  releaseId,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { isReleaseInUse } from "../model/findDeployment.ts"
import * as Transitions from "../model/versionTransitions.ts"
import { type Release, StepFailed, type UnpackedSource } from "../ports/DeploymentTarget.ts"
import * as Lease from "./Lease.ts"
import { makeLogBuffer } from "./LogBuffer.ts"
import type { QueuedRun } from "./RunQueue.ts"

/** A run fails when its lease has expired this many times, so it is taken over only once. */
const maxExpiredLeases = 2

/** How many versions of a deployment are kept. */
const maxVersions = 10

/** Bounds a run whose target hangs. */
const maxRunDuration = "1 hour"

/** Removes a release unless it is being built or served. */
const discard = ({ target }: DeploymentConfigShape, releaseId: string) =>
  runBestEffort(
    `Removing the release ${releaseId}`,
    Effect.flatMap(isReleaseInUse(releaseId), (isInUse) =>
      isInUse ? Effect.void : (target.discard?.(releaseId) ?? Effect.void)
    )
  )

/**
 * Removes the sources of superseded versions, and all but the latest 10 versions. Without a deployment, removes all
 * versions.
 */
const removeOldVersions = Effect.fnUntraced(
  function* ({ sources }: Pick<DeploymentConfigShape, "sources">, partition: Partition.Partition, name: string) {
    const store = yield* Store
    // List the versions before reading the deployment: a version created in between is not in the list, and one created
    // later changes the deployment, so the commit conflicts.
    const { entries, total } = yield* versions.page(partition, { where: [byDeployment(name)], offset: 0, limit: 100 })
    const deployment = yield* deployments.get(partition, name)
    const latest = Option.isSome(deployment) ? deployment.value.value.latest : undefined
    const assertDeploymentUnchanged = Option.isSome(deployment)
      ? deployments.assertUnchanged(deployment.value)
      : Change.Check({ key: deployments.recordKey(name), expect: 0 })
    for (const [index, entry] of entries.entries()) {
      const { id, source, ...version } = entry.value
      const shouldRemove = latest === undefined || index < total - maxVersions
      if (id === latest || (source === undefined && !shouldRemove)) continue
      const change = shouldRemove ? versions.remove(entry) : versions.replace(entry, { id, ...version })
      yield* store.commit(partition, [assertDeploymentUnchanged, change])
      if (source !== undefined) yield* sources.remove(source)
    }
  },
  // The upload and the run of a version both prune, and each may find what the other has removed.
  (prune) => retryOnConflict(prune)
)

/** Removes what superseded versions hold, and counts what the deployment still holds. */
export const pruneVersions = (config: DeploymentConfigShape, partition: Partition.Partition, name: string) =>
  Effect.andThen(removeOldVersions(config, partition, name), countHeldBytes(name))

/**
 * Runs a target's step. Maps defects and interruptions inside the target to `StepFailed`. The step runs in its own
 * fiber, to distinguish an interruption of the run from one inside the target.
 */
const runTargetStep = Effect.fnUntraced(function* <A>(
  name: Transitions.RunStep,
  work: () => Effect.Effect<A, StepFailed>
) {
  const fiber = yield* Effect.forkChild(Effect.suspend(work))
  const exit = yield* Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.squash(exit.cause)
  if (error instanceof StepFailed) return yield* error
  yield* Effect.logError(`The step ${name} of a deployment failed`, exit.cause)
  return yield* new StepFailed({ problem: "Internal error. See the server log for details." })
})

export type RunOutcome = "succeeded" | "failed"

/**
 * Acquires the lease of a version and runs it. Does nothing if another process holds the lease. Returns `undefined` if
 * this process has not finished the run.
 */
export const runVersion = Effect.fnUntraced(function* (config: DeploymentConfigShape, run: QueuedRun, holder: string) {
  const { project, id, expiredRecordVersion } = run
  const acquired = yield* Lease.acquire(projectPartition(project), id, holder, expiredRecordVersion)
  if (Option.isNone(acquired)) return undefined
  const lease = acquired.value
  return yield* runWithLease(config, lease).pipe(
    Effect.catchTag("LeaseLost", () => Effect.as(discard(config, releaseId(lease.version)), undefined)),
    Effect.tap(runBestEffort("Pruning old versions", pruneVersions(config, lease.partition, lease.version.deployment))),
    Effect.onInterrupt(() => Lease.release(lease))
  )
})

const runWithLease = Effect.fnUntraced(function* (
  config: DeploymentConfigShape,
  lease: Lease.Lease
): Effect.fn.Return<RunOutcome, Lease.LeaseLost | StoreError, Store> {
  const { target, sources, productionBranch } = config
  const { version, partition } = lease
  const store = yield* Store
  const { deploymentBytesPerAccount: maxBytes } = yield* Limits
  const log = makeLogBuffer(version.buildResult.log)
  const withLog = (current: Version): Version => ({
    ...current,
    buildResult: { ...current.buildResult, log: log.flush() }
  })
  const update = (change: (version: Version, now: DateTime.Utc) => Version) =>
    Lease.update(lease, (current, now) => withLog(change(current, now)))

  const fail = (message: DeploymentMessage, problem: string, exitCode?: number) =>
    Effect.gen(function* () {
      log.add(problem)
      yield* Lease.complete(
        lease,
        (current, now) => withLog(Transitions.fail(current, problem, now, exitCode)),
        (deployment, updatedOn) => ({ ...deployment, message, updatedOn }),
        (deployment) => recordDeploymentEvent("deployment.failed", config, deployment)
      )
      yield* discard(config, releaseId(version))
      return "failed" as const
    })

  const deployment = yield* deployments.get(partition, version.deployment)
  if (Option.isNone(deployment)) return yield* new Lease.LeaseLost()
  const { accountName, projectName, branchName, name } = deployment.value.value
  if ((version.run?.lapses ?? 0) >= maxExpiredLeases) {
    return yield* fail(
      "interrupted",
      `The run was interrupted ${maxExpiredLeases} times. Deploy again, or check the server.`
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
      version.source === undefined ? Stream.die("The version to run has no source") : sources.open(version.source)
    ),
    sourceBytes: version.sourceBytes,
    log: log.add
  }

  /** Records that a step has started, and runs it. */
  const startStep = <A>(name: Transitions.RunStep, work: () => Effect.Effect<A, StepFailed>) =>
    Effect.andThen(
      update((current, now) => Transitions.startStep(current, name, now)),
      Effect.mapError(
        withSafeSpan(`tollgate.deployment.${name}`)(runTargetStep(name, work)),
        ({ problem, exitCode }) => ({ _tag: "Failed", step: name, problem, exitCode }) as const
      )
    )

  /** Runs a step and records its start and outcome. Skips a step that the target does not implement. */
  const runStep = (
    name: Transitions.RunStep,
    work: (() => Effect.Effect<Transitions.StepResult | "skipped", StepFailed>) | undefined
  ) =>
    Effect.gen(function* () {
      const outcome = work === undefined ? "skipped" : yield* startStep(name, work)
      yield* update((current, now) =>
        outcome === "skipped"
          ? Transitions.skipStep(current, name)
          : Transitions.finishStep(current, name, now, outcome)
      )
    })

  /** Fails the step if the account holds too many bytes. After other errors, the end of the run counts again. */
  const countUnpacked = ({ bytes, diskBytes = bytes }: UnpackedSource) =>
    addHeldBytes(accountName, name, { added: diskBytes, max: maxBytes }).pipe(
      Effect.provideService(Store, store),
      Effect.catch((error) =>
        error._tag === "LimitReached" ? Effect.fail(new StepFailed({ problem: error.message })) : Effect.void
      )
    )

  const steps = Effect.gen(function* () {
    const [unpack, build, check] = [target.unpack?.bind(target), target.build?.bind(target), target.check?.bind(target)]
    yield* runStep("unpack", unpack && (() => Effect.tap(unpack(release), countUnpacked)))
    yield* runStep("build", build && (() => build(release)))
    yield* runStep("check", check && (() => Effect.as(check(release), {})))
    // `Lease.complete` records the outcome of this step together with the end of the run.
    yield* startStep("publish", () => target.publish(release))
    log.add("Published")
    const previous = yield* Lease.complete(
      lease,
      (current, now) => withLog(Transitions.succeed(current, now)),
      ({ servedBytes: _, ...deployment }, updatedOn, { releaseBytes }) => ({
        ...deployment,
        message: "",
        updatedOn,
        served: release.id,
        ...(releaseBytes === undefined ? {} : { servedBytes: releaseBytes })
      }),
      (deployment) => recordDeploymentEvent("deployment.succeeded", config, deployment)
    )
    if (previous?.served !== undefined) yield* discard(config, previous.served)
    return "succeeded" as const
  })

  /** Writes new log lines every second. Renews the lease at least every 3 seconds; it expires after 10. */
  const heartbeat = Effect.gen(function* () {
    for (let beat = 1; ; beat++) {
      yield* Effect.sleep("1 second")
      if (log.isDirty() || beat % Lease.renewalInterval === 0) yield* update((current) => current)
    }
  })

  if (version.attempt > 1) yield* discard(config, artifactId(version, version.attempt - 1))
  return yield* Effect.raceFirst(steps, heartbeat).pipe(
    Effect.timeoutOrElse({
      duration: maxRunDuration,
      orElse: () => fail("interrupted", "The run took longer than 1 hour")
    }),
    Effect.catchTag("Failed", ({ step, problem, exitCode }) =>
      fail(Transitions.failureMessages[step], problem, exitCode)
    )
  )
})
