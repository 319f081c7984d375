/**
 * Runs one version: executes its steps in order and records when each starts and ends. The run stops when it loses its
 * lease.
 */
import {
  HeldWork,
  Limits,
  Processes,
  runBestEffort,
  SecretBox,
  Store,
  type StoreError,
  withSafeSpan
} from "@tollgate/core/module"
import { Cause, type DateTime, Effect, Exit, Fiber, Option, Stream } from "effect"
import type { DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import { recordDeploymentEvent } from "../config/recordDeploymentEvent.ts"
import { addHeldBytes } from "../model/countHeldBytes.ts"
import type { DeploymentMessage } from "../model/Deployment.ts"
import {
  artifactId,
  deployments,
  type KeptRelease,
  type Project,
  projectPartition,
  releaseId,
  type Version
} from "../model/deploymentRecords.ts"
import { readKeptVersions } from "../model/readVersions.ts"
import { withServed } from "../model/servedVersion.ts"
import { ensureAddress } from "../model/versionAddresses.ts"
import * as Transitions from "../model/versionTransitions.ts"
import { type Release, StepFailed, type UnpackedSource } from "../ports/DeploymentTarget.ts"
import * as Lease from "./Lease.ts"
import { makeLogBuffer } from "./LogBuffer.ts"
import { measureReleases } from "./measureReleases.ts"
import { discard, pruneVersions } from "./pruneVersions.ts"
import type { QueuedRun } from "./RunQueue.ts"

/** A run fails when this many processes have died that ran it, so it is taken over only once. */
const maxLapses = 2

/** Bounds a run whose target hangs. */
const maxRunDuration = "1 hour"

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
export const runVersion = Effect.fnUntraced(function* (config: DeploymentConfigShape, queued: QueuedRun) {
  const { project, id, deadRecordVersion } = queued
  const processes = yield* Processes
  const holder = yield* processes.join
  const acquired = yield* Lease.acquire(projectPartition(project), id, holder, deadRecordVersion)
  if (Option.isNone(acquired)) return undefined
  const lease = acquired.value
  const lost = Effect.andThen(processes.awaitLost(holder), new Lease.LeaseLost())
  const heldWork = yield* HeldWork
  const run = heldWork.keep(lease.partition, Effect.raceFirst(runWithLease(config, lease, project), lost))
  return yield* run.pipe(
    Effect.catchTag("LeaseLost", () => Effect.as(discard(config, releaseId(lease.version)), undefined)),
    Effect.tap(runBestEffort("Pruning old versions", pruneVersions(config, lease.partition, lease.version.deployment))),
    Effect.onExit((exit) => {
      if (Exit.isSuccess(exit)) return Effect.void
      heldWork.leave(lease.partition)
      return Lease.release(lease)
    })
  )
})

const runWithLease = Effect.fnUntraced(function* (
  config: DeploymentConfigShape,
  lease: Lease.Lease,
  project: Project
): Effect.fn.Return<RunOutcome, Lease.LeaseLost | StoreError, Store | Processes | SecretBox> {
  const { target, sources, productionBranch } = config
  const { keepsReleases = target.serve !== undefined } = target
  const { hashName } = yield* SecretBox
  const { version, partition } = lease
  const store = yield* Store
  const processes = yield* Processes
  const { deploymentBytesPerAccount: maxBytes } = yield* Limits
  const log = makeLogBuffer(version)
  const update = (change: (version: Version, now: DateTime.Utc) => Version) =>
    Lease.update(lease, (current, now) => log.flush(change(current, now)))

  const fail = (message: DeploymentMessage, problem: string, exitCode?: number) =>
    Effect.gen(function* () {
      log.add(problem)
      yield* Lease.complete(
        lease,
        (current, now) => log.flush(Transitions.fail(current, problem, now, exitCode)),
        (deployment, updatedOn) => ({ ...deployment, message, updatedOn }),
        (deployment) => recordDeploymentEvent("deployment.failed", config, deployment),
        () => [releaseId(version)]
      )
      // A later upload may have ended the version before, and noted nothing.
      yield* discard(config, releaseId(version))
      return "failed" as const
    })

  const deployment = yield* deployments.get(partition, version.deployment)
  if (Option.isNone(deployment)) return yield* new Lease.LeaseLost()
  const { accountName, projectName, branchName, name } = deployment.value.value
  if ((version.run?.lapses ?? 0) >= maxLapses) {
    return yield* fail("interrupted", `The run was interrupted ${maxLapses} times. Deploy again, or check the server.`)
  }

  const kept = keepsReleases ? yield* readKeptVersions(partition, name) : []
  const earlier = [...new Set([...kept.map(({ value }) => value.release?.id), deployment.value.value.served])].filter(
    (id) => id !== undefined
  )
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
    earlier,
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
      Effect.provideService(Processes, processes),
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
    const address = keepsReleases ? yield* Lease.retryTransient(ensureAddress(project, version, hashName)) : undefined
    const sizes = keepsReleases ? yield* measureReleases(target, [...earlier.toReversed(), release.id]) : undefined
    const getBytes = ({ releaseBytes }: Version) => sizes?.at(-1) ?? releaseBytes
    const toKept = (version: Version): KeptRelease | undefined => {
      const bytes = getBytes(version)
      return address === undefined ? undefined : { id: release.id, address, ...(bytes === undefined ? {} : { bytes }) }
    }
    yield* Lease.complete(
      lease,
      (current, now, { isPinned }) =>
        isPinned
          ? log.flush(Transitions.awaitPromotion(current, toKept(current)), "Waits for promote")
          : log.flush(Transitions.succeed(current, now, toKept(current)), "Published"),
      (deployment, updatedOn, version) => {
        const succeeded = { ...deployment, message: "" as const, updatedOn }
        return deployment.isPinned ? succeeded : withServed(succeeded, { id: release.id, bytes: getBytes(version) })
      },
      (deployment) => recordDeploymentEvent("deployment.succeeded", config, deployment),
      // What was served, and the release of an earlier attempt, unless they are kept.
      ({ served }) => [served, version.release?.id]
    )
    return "succeeded" as const
  })

  /** Writes new log lines every second. Stops the run if a later upload or a removal has ended it. */
  const watch = Effect.gen(function* () {
    for (let second = 1; ; second++) {
      yield* Effect.sleep("1 second")
      if (log.isDirty()) yield* update((current) => current)
      else if (second % 3 === 0) yield* Effect.catchTag(Lease.check(lease), "StoreUnavailable", () => Effect.void)
    }
  })

  if (version.attempt > 1) yield* discard(config, artifactId(version, version.attempt - 1))
  return yield* Effect.raceFirst(steps, watch).pipe(
    Effect.timeoutOrElse({
      duration: maxRunDuration,
      orElse: () => fail("interrupted", "The run took longer than 1 hour")
    }),
    Effect.catchTag("Failed", ({ step, problem, exitCode }) =>
      fail(Transitions.failureMessages[step], problem, exitCode)
    )
  )
})
