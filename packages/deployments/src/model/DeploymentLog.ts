/**
 * The log of a version, in numbered lines. The numbers go on when the version runs again, so each line of a version has its
 * own, and a reader resumes after any of them.
 */
import { lastEventIdHeader, withEventStream } from "@tollgate/core/module"
import { Schema } from "effect"
import { VersionStatus } from "./DeploymentStatus.ts"
import type { Version } from "./deploymentRecords.ts"
import { countLogLines } from "./versionTransitions.ts"

const LogLine = Schema.Struct({ number: Schema.Int, text: Schema.String }).annotate({
  identifier: "DeploymentLogLine"
})
/** A line of the log of a deployment. */
export type LogLine = typeof LogLine.Type

const Log = Schema.Struct({
  status: VersionStatus,
  /** The lines after the position that was asked for. The last 200 of a run are remembered. */
  lines: Schema.Array(LogLine),
  /** The position after these lines: the number of the last one, and `.end` when the run has ended. */
  next: Schema.String
}).annotate({ identifier: "DeploymentLog" })
type Log = typeof Log.Type

const isOver = ({ status }: Log): boolean => status !== "IN_PROGRESS"

/** As events, each line has its number as its id. The last event, `end`, says how the run has ended. */
export const DeploymentLog = withEventStream(Log, {
  isOver,
  toEvents: (log, after) => [
    ...log.lines.map(({ number, text }) => ({ id: String(number), data: text })),
    ...(isOver(log) && log.next !== after
      ? [{ id: log.next, event: "end", data: JSON.stringify({ status: log.status }) }]
      : [])
  ]
})
/** The log of a version, as plain JSON. */
export type DeploymentLogJson = typeof Log.Encoded

export const logPositionHeader = lastEventIdHeader(
  /^\d{1,15}(\.end)?$/u,
  "the number of a line of the log, or the `next` of an earlier response"
)

/** The lines of a version after a position. */
export const toDeploymentLog = (version: Version, after: string | undefined): Log => {
  const { status, buildResult, logStart = 0 } = version
  const last = Number.parseInt(after ?? "0", 10)
  const lines = buildResult.log
    .map((text, index) => ({ number: logStart + index + 1, text }))
    .filter(({ number }) => number > last)
  const end = status === "IN_PROGRESS" ? "" : ".end"
  return { status, lines, next: `${countLogLines(version)}${end}` }
}
