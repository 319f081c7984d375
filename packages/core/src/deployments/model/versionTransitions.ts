/**
 * How a version changes as it is run: each change a function from what was to what is.
 */
import type { DateTime } from "effect"
import type { DeploymentMessage } from "./Deployment.ts"
import type { BuildResult, Step, StepName, Steps } from "./DeploymentStatus.ts"
import type { Version } from "./deploymentRecords.ts"

/** What is run after the upload, in this order. */
export const runSteps = ["unpack", "build", "check", "publish"] as const
export type RunStep = (typeof runSteps)[number]

/** How a run ends whose step failed. */
export const failureMessages: Readonly<Record<RunStep, DeploymentMessage>> = {
  unpack: "source-rejected",
  build: "build-failed",
  check: "check-failed",
  publish: "publish-failed"
}

const waiting: Step = { status: "waiting" }
const pendingSteps = { unpack: waiting, build: waiting, check: waiting, publish: waiting }

/** A run that anybody may begin. */
const unleased = (now: DateTime.Utc) => ({ until: now, lapses: 0 })

type Progress = Pick<Version, "status" | "steps" | "buildResult" | "run">

/** A version whose source has arrived. */
export const accept = (given: {
  readonly digest: string
  readonly bytes: number
  readonly startedOn: DateTime.Utc
  readonly now: DateTime.Utc
}): Progress => ({
  status: "IN_PROGRESS",
  steps: { upload: { status: "done", startedOn: given.startedOn, finishedOn: given.now }, ...pendingSteps },
  buildResult: {
    digest: given.digest,
    files: 0,
    bytes: 0,
    log: [`Received ${given.bytes} bytes`]
  },
  run: unleased(given.now)
})

/** The same source, to be run again. */
export const restart = (version: Version, now: DateTime.Utc): Version => ({
  ...version,
  status: "IN_PROGRESS",
  steps: { upload: version.steps.upload, ...pendingSteps },
  buildResult: { digest: version.buildResult.digest, files: 0, bytes: 0, log: [] },
  run: unleased(now)
})

const withStep = (steps: Steps, name: StepName, step: Step): Steps => ({ ...steps, [name]: step })

export const startStep = (version: Version, name: RunStep, now: DateTime.Utc): Version => ({
  ...version,
  steps: withStep(version.steps, name, { status: "running", startedOn: now })
})

/** What a step has found out. */
export type Outcome = Partial<Pick<BuildResult, "files" | "bytes" | "exitCode">>

export const finishStep = (version: Version, name: RunStep, now: DateTime.Utc, outcome: Outcome): Version => {
  const { files = version.buildResult.files, bytes = version.buildResult.bytes, exitCode } = outcome
  return {
    ...version,
    steps: withStep(version.steps, name, { ...version.steps[name], status: "done", finishedOn: now }),
    buildResult: { ...version.buildResult, files, bytes, ...(exitCode === undefined ? {} : { exitCode }) }
  }
}

export const skipStep = (version: Version, name: RunStep): Version => ({
  ...version,
  steps: withStep(version.steps, name, { status: "skipped" })
})

const withoutRun = ({ run: _, ...version }: Version): Version => version

/** The end of a run that failed: the step it was in says why, and those behind it are skipped. */
export const fail = (version: Version, problem: string, now: DateTime.Utc, exitCode?: number): Version => {
  const reached = runSteps.find((name) => !["done", "skipped"].includes(version.steps[name].status)) ?? "publish"
  const steps = runSteps.reduce<Steps>((all, name) => {
    if (name === reached) {
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
  fail(version, "a later upload took its place", now)

export const succeed = (version: Version, now: DateTime.Utc): Version => ({
  ...withoutRun(finishStep(version, "publish", now, {})),
  status: "SUCCESS"
})
