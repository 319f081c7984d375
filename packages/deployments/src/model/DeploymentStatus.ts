/**
 * The status of one version of a deployment: its steps in order, and the result and log of its build.
 */
import { Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"

/** The id of the upload that created the version. */
export const StatusId = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u, {
      expected: "the id of an upload, a UUID in lower case"
    })
  ),
  Schema.brand("StatusId")
)
export type StatusId = typeof StatusId.Type

export const Step = Schema.Struct({
  status: Schema.Literals(["waiting", "running", "done", "failed", "skipped"]),
  startedOn: Schema.optionalKey(Timestamp),
  finishedOn: Schema.optionalKey(Timestamp),
  message: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "DeploymentStep" })
export type Step = typeof Step.Type

export const Steps = Schema.Struct({ upload: Step, unpack: Step, build: Step, check: Step, publish: Step }).annotate({
  identifier: "DeploymentSteps"
})
export type Steps = typeof Steps.Type
export type StepName = keyof Steps

/**
 * What unpacking and building a source gave: the number and size of its files, the exit code of the build, and the end
 * of its log.
 */
export const BuildResult = Schema.Struct({
  /** The SHA-256 of the source, in hexadecimal. */
  digest: Schema.String,
  /** The number and total size of the unpacked files. */
  files: Schema.Int,
  bytes: Schema.Int,
  exitCode: Schema.optionalKey(Schema.Int),
  /** The last lines of the log. */
  log: Schema.Array(Schema.String),
  error: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "BuildResult" })
export type BuildResult = typeof BuildResult.Type

export const VersionStatus = Schema.Literals(["SUCCESS", "ERROR", "IN_PROGRESS"])

/** The status of one version of a deployment, with its steps and the result of its build. */
export const DeploymentStatus = Schema.Struct({
  status: VersionStatus,
  url: Schema.String,
  steps: Steps,
  buildResult: BuildResult
}).annotate({ identifier: "DeploymentStatus" })
export type DeploymentStatus = typeof DeploymentStatus.Type
/** The status of a version of a deployment, as plain JSON. */
export type DeploymentStatusJson = typeof DeploymentStatus.Encoded
