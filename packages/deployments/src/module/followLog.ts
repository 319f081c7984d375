/**
 * Follows the log of a deployment through its pages, in process and in a client.
 */
import { invalidParameter, isTollgateError, parseOptions, run } from "@tollgate/core/module"
import { Effect } from "effect"
import type { DeploymentLogJson, LogLine } from "../model/DeploymentLog.ts"
import type { DeploymentsMethods } from "../services/DeploymentsApi.ts"

const pollIntervalMs = 1_000
/** How often in succession the server may fail to answer. */
const maxFailures = 10

/** The options of `followLog`. */
export interface FollowLogOptions {
  readonly signal?: AbortSignal | undefined
  /** Begins after this position: the number of a line, or the `next` of a log. Default: before the first line. */
  readonly after?: string | undefined
}

/** Whether the server may answer later: it, its store or the network is away or busy. */
const isPassing = (error: unknown): boolean => isTollgateError(error) && (error.status === 429 || error.status > 500)

export async function* followLog(
  { log }: Pick<DeploymentsMethods, "log">,
  statusId: string,
  options?: FollowLogOptions
): AsyncGenerator<LogLine, DeploymentLogJson["status"]> {
  const { signal, values } = parseOptions(options)
  const { after, ...unknown } = values as Pick<FollowLogOptions, "after">
  for (const name of Object.keys(unknown)) throw invalidParameter(name, "is not an option of this call")
  let position = after
  let failures = 0
  for (;;) {
    try {
      const { lines, next, status } = await log(statusId, { after: position, signal })
      failures = 0
      position = next
      yield* lines
      if (status !== "IN_PROGRESS") return status
    } catch (error) {
      failures++
      if (!isPassing(error) || failures >= maxFailures) throw error
    }
    await run(Effect.sleep(pollIntervalMs), signal)
  }
}
