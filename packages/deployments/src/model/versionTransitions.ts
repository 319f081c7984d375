/**
 * State transitions of a version during a run, as pure functions from the old record to the new one.
 */
import type { DateTime } from "effect"
import type { DeploymentMessage } from "./Deployment.ts"
import type { BuildResult, Step, StepName, Steps } from "./DeploymentStatus.ts"
import type { KeptRelease, Version } from "./deploymentRecords.ts"

/** The steps that run after the upload, in order. */
const runSteps = ["unpack", "build", "check", "publish"] as const
export type RunStep = (typeof runSteps)[number]

/** The deployment's message for each failed step. */
export const failureMessages: Readonly<Record<RunStep, DeploymentMessage>> = {
  unpack: "source-rejected",
  build: "build-failed",
  check: "check-failed",
  publish: "publish-failed"
}

const waiting: Step = { status: "waiting" }
const pendingSteps = { unpack: waiting, build: waiting, check: waiting, publish: waiting }

/** A run without a holder, which any process may acquire. */
const makeQueuedRun = (now: DateTime.Utc) => ({ since: now, lapses: 0 })

type Progress = Pick<Version, "status" | "steps" | "buildResult" | "run">

/** The initial state of a version, after its source has been stored. */
export const accept = (input: {
  readonly digest: string
  readonly bytes: number
  readonly startedOn: DateTime.Utc
  readonly now: DateTime.Utc
}): Progress => ({
  status: "IN_PROGRESS",
  steps: { upload: { status: "done", startedOn: input.startedOn, finishedOn: input.now }, ...pendingSteps },
  buildResult: {
    digest: input.digest,
    files: 0,
    bytes: 0,
    log: [`Received ${input.bytes} bytes`]
  },
  run: makeQueuedRun(input.now)
})

/** How many lines the log of a version has had. */
export const countLogLines = ({ logStart = 0, buildResult }: Pick<Version, "logStart" | "buildResult">): number =>
  logStart + buildResult.log.length

/** Queues another run of the same source. */
export const restart = ({ releaseBytes: _, ...version }: Version, now: DateTime.Utc): Version => ({
  ...version,
  status: "IN_PROGRESS",
  steps: { upload: version.steps.upload, ...pendingSteps },
  buildResult: { digest: version.buildResult.digest, files: 0, bytes: 0, log: [] },
  // The numbers of lines go on.
  logStart: countLogLines(version),
  run: makeQueuedRun(now)
})

const withStep = (steps: Steps, name: StepName, step: Step): Steps => ({ ...steps, [name]: step })

export const startStep = (version: Version, name: RunStep, now: DateTime.Utc): Version => ({
  ...version,
  steps: withStep(version.steps, name, { status: "running", startedOn: now })
})

/** The values that a step contributes to the build result. */
export type StepResult = Partial<Pick<BuildResult, "files" | "bytes" | "exitCode">> & {
  readonly diskBytes?: number | undefined
}

export const finishStep = (version: Version, name: RunStep, now: DateTime.Utc, outcome: StepResult): Version => {
  const { files = version.buildResult.files, bytes = version.buildResult.bytes, exitCode } = outcome
  const releaseBytes = outcome.diskBytes ?? outcome.bytes ?? version.releaseBytes
  return {
    ...version,
    steps: withStep(version.steps, name, { ...version.steps[name], status: "done", finishedOn: now }),
    buildResult: { ...version.buildResult, files, bytes, ...(exitCode === undefined ? {} : { exitCode }) },
    ...(releaseBytes === undefined ? {} : { releaseBytes })
  }
}

export const skipStep = (version: Version, name: RunStep): Version => ({
  ...version,
  steps: withStep(version.steps, name, { status: "skipped" })
})

const withoutRun = ({ run: _, ...version }: Version): Version => version

/** Fails the current step with the problem and skips the steps after it. */
export const fail = (version: Version, problem: string, now: DateTime.Utc, exitCode?: number): Version => {
  const current = runSteps.find((name) => !["done", "skipped"].includes(version.steps[name].status)) ?? "publish"
  const steps = runSteps.reduce<Steps>((all, name) => {
    if (name === current) {
      return withStep(all, name, { ...all[name], status: "failed", finishedOn: now, message: problem })
    }
    return all[name].status === "waiting" ? withStep(all, name, { status: "skipped" }) : all
  }, version.steps)
  return {
    ...withoutRun(version),
    status: "ERROR",
    steps,
    buildResult: { ...version.buildResult, error: problem, ...(exitCode === undefined ? {} : { exitCode }) }
  }
}

export const supersede = (version: Version, now: DateTime.Utc): Version =>
  fail(version, "Superseded by a later upload", now)

const withRelease = (version: Version, release: KeptRelease | undefined): Version =>
  release === undefined ? version : { ...version, release }

/** Ends a run whose release is served. */
export const succeed = (version: Version, now: DateTime.Utc, release: KeptRelease | undefined): Version => ({
  ...withRelease(withoutRun(finishStep(version, "publish", now, {})), release),
  status: "SUCCESS"
})

/** Ends a run whose release is kept, and not served, because the deployment is pinned. */
export const awaitPromotion = (version: Version, release: KeptRelease | undefined): Version => ({
  ...withRelease(withoutRun(version), release),
  status: "SUCCESS",
  steps: withStep(version.steps, "publish", { status: "skipped", message: "waits for promote" })
})

/** Whether a version has passed its check and was never served. */
export const isWaiting = ({ status, steps }: Version): boolean =>
  status === "SUCCESS" && steps.publish.status === "skipped"

/** Serves a kept version. One that has waited is published now. */
export const serveKept = (version: Version, now: DateTime.Utc): Version =>
  isWaiting(version)
    ? { ...version, steps: withStep(version.steps, "publish", { status: "done", startedOn: now, finishedOn: now }) }
    : version
