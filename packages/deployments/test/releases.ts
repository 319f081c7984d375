/**
 * Processes that deploy, the releases that their target has, and those that it must have.
 */
import { assert } from "@effect/vitest"
import type { DeploymentTarget } from "@tollgate/deployments"
import { Effect, Stream } from "effect"
import {
  branch,
  createUploadUrl,
  eventually,
  getStatus,
  listDeployments,
  type startProcess
} from "../../core/test/processes.ts"

export type Process = Effect.Success<ReturnType<typeof startProcess>>

export const makeTarget = () => {
  const releases = new Set<string>()
  const target: DeploymentTarget = {
    publish: ({ id }) => Effect.sync(() => void releases.add(id)),
    discard: (id) => Effect.sync(() => void releases.delete(id)),
    serve: (id) => Effect.sync(() => (releases.has(id) ? new Response(id) : undefined))
  }
  return { target, releases }
}

const send = (process: Process) =>
  Effect.gen(function* () {
    const url = yield* createUploadUrl(process.uploads, branch)
    const { id } = yield* process.uploads.receive(url, Stream.succeed(new Uint8Array(5)))
    return id
  })

export const waitForEnd = ({ deployments }: Process, id: string) =>
  eventually(getStatus(deployments, id), ({ value }) => value.status !== "IN_PROGRESS")

export const deploy = (process: Process) => Effect.tap(send(process), (id) => waitForEnd(process, id))

export const getName = ({ deployments }: Process) =>
  Effect.map(listDeployments(deployments), ({ data: [deployment] }) => deployment?.name ?? assert.fail())

/** The releases that must be there: of the versions that are kept, by their addresses, and the one that is served. */
export const findNeeded = ({ deployments }: Process, name: string) =>
  Effect.gen(function* () {
    const query = { limit: 100, offset: 0 }
    const { data } = yield* deployments.versions({ params: { deploymentName: name }, query })
    const addresses = data.flatMap(({ isKept, url }) =>
      isKept && url ? [new URL(url).pathname.split("/")[2] ?? ""] : []
    )
    return new Set(yield* Effect.forEach([name, ...addresses], deployments.getServedRelease))
    // A version may be removed between the two.
  }).pipe(Effect.retry({ times: 5 }))
