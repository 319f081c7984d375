/**
 * The port that turns a source into a served release. A target implements the steps; the scheduler decides when they
 * run, in which process, and which release is served.
 */
import { abortablePromise } from "@tollgate/core/module"
import { Effect, Schema, Stream } from "effect"
import type { Branch, DeploymentName, EnvironmentType } from "../model/Deployment.ts"
import type { SourceStoreError } from "../model/DeploymentError.ts"

/** A step failed. The problem is shown in the deployment status. */
export class StepFailed extends Schema.TaggedError<StepFailed>()("StepFailed", {
  problem: Schema.String,
  exitCode: Schema.optionalKey(Schema.Int)
}) {
  override get message(): string {
    return this.problem
  }
}

/** The result of one run of a source. */
export interface Release {
  /** Unique. Contains only letters, digits, `-` and `.`, so it is valid as a folder name. */
  readonly id: string
  readonly deployment: Branch & { readonly name: DeploymentName; readonly environmentType: EnvironmentType }
  /** The uploaded archive. */
  readonly source: Stream.Stream<Uint8Array, SourceStoreError>
  /** The size of the archive. */
  readonly sourceBytes: number
  /** The ids of the releases of the deployment that are kept, newest first, whose files may be shared. */
  readonly earlier: ReadonlyArray<string>
  /** Adds a line to the log in the deployment status. */
  readonly log: (line: string) => void
}

/** What a target unpacked. */
export interface UnpackedSource {
  readonly files: number
  readonly bytes: number
  /** What the release occupies, which counts towards `deploymentBytesPerAccount`. Default: `bytes`. */
  readonly diskBytes?: number | undefined
}

/**
 * Turns uploaded sources into served releases. Only `publish` is required; `targetFromPromises` makes a target without
 * Effect.
 */
export interface DeploymentTarget {
  /**
   * Unpacks the source. The counts are shown in `buildResult`. Tollgate skips steps that a target does not implement.
   */
  readonly unpack?: (release: Release) => Effect.Effect<UnpackedSource, StepFailed>
  readonly build?: (release: Release) => Effect.Effect<{ readonly exitCode: number } | "skipped", StepFailed>
  /** Tests the release before it is public. */
  readonly check?: (release: Release) => Effect.Effect<void, StepFailed>
  /**
   * Prepares the release for serving. Tollgate then commits it as the served release, or discards it if the run has
   * lost its lease.
   */
  readonly publish: (release: Release) => Effect.Effect<void, StepFailed>
  /**
   * Whether a release that `publish` has prepared can be served until `discard` removes it, so that a deployment can be
   * rolled back. If not, Tollgate discards a release when another one is published. Default: whether there is `serve`.
   */
  readonly keepsReleases?: boolean
  /**
   * Whether a release that `publish` has prepared can still be served whole, before a rollback or a promotion serves it.
   * Without it, each that is kept can.
   */
  readonly has?: (releaseId: string) => Effect.Effect<boolean, unknown>
  /** Removes a release that is not kept, including one whose run failed early. Must be idempotent. */
  readonly discard?: (releaseId: string) => Effect.Effect<void, unknown>
  /**
   * Measures what releases of a deployment occupy that have been published, in the same order: a file that several share
   * counts for the first of them. Without it, a release occupies what its `unpack` has returned.
   */
  readonly measure?: (releaseIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>, unknown>
  /** Removes everything that belongs to a removed deployment. Must be idempotent. */
  readonly remove?: (deploymentName: string) => Effect.Effect<void, unknown>
  /** Removes all releases that are not in use, such as those of processes that died. */
  readonly sweep?: (isInUse: (releaseId: string) => Effect.Effect<boolean>) => Effect.Effect<void, unknown>
  /** The public URL of a deployment, or of the address of a version. Default: a URL below `/sites/` of this server. */
  readonly url?: (deploymentName: string) => string
  /**
   * Responds to a request for a path of a release, such as `/` or `/docs/a.html`. Returns undefined if the release does
   * not exist. For an unknown file, return a 404 response without `content-type`: Tollgate then responds with its own
   * 404. It sends a 404 response that has a `content-type` unchanged. Without this method, Tollgate does not serve
   * `/sites/`.
   */
  readonly serve?: (releaseId: string, path: string, request: Request) => Effect.Effect<Response | undefined>
}

/** The argument of the steps of a `PromiseTarget`. */
export interface PromiseRelease extends Pick<Release, "id" | "deployment" | "log"> {
  readonly source: () => ReadableStream<Uint8Array>
  /** Aborted when the run ends before the step has finished, because of a later upload or because the server stops. */
  readonly signal: AbortSignal
}

/** A target whose steps return promises. A step fails by throwing; the error's message is shown in the status. */
export interface PromiseTarget {
  readonly unpack?: (release: PromiseRelease) => Promise<UnpackedSource>
  readonly build?: (release: PromiseRelease) => Promise<{ readonly exitCode: number } | "skipped">
  readonly check?: (release: PromiseRelease) => Promise<void>
  readonly publish: (release: PromiseRelease) => Promise<void>
  readonly keepsReleases?: boolean
  readonly has?: (releaseId: string) => Promise<boolean>
  readonly discard?: (releaseId: string) => Promise<void>
  readonly remove?: (deploymentName: string) => Promise<void>
  readonly url?: (deploymentName: string) => string
}

const fromPromiseStep =
  <A>(step: (release: PromiseRelease) => Promise<A>) =>
  ({ id, deployment, log, source }: Release): Effect.Effect<A, StepFailed> =>
    abortablePromise(
      (signal) => step({ id, deployment, log, signal, source: () => Stream.toReadableStream(source) }),
      (error) => new StepFailed({ problem: error instanceof Error ? error.message : String(error) })
    )

const fromPromiseCall =
  <A>(call: (id: string) => Promise<A>) =>
  (id: string) =>
    Effect.tryPromise({ try: () => call(id), catch: (error) => error })

/**
 * Makes a target from functions that return promises.
 *
 * @example
 * ```ts
 * const target = targetFromPromises({
 *   publish: ({ deployment, source }) => copy(source(), `/srv/${deployment.name}.tar.gz`)
 * })
 * ```
 */
export const targetFromPromises = (steps: PromiseTarget): DeploymentTarget => ({
  ...(steps.unpack === undefined ? {} : { unpack: fromPromiseStep(steps.unpack) }),
  ...(steps.build === undefined ? {} : { build: fromPromiseStep(steps.build) }),
  ...(steps.check === undefined ? {} : { check: fromPromiseStep(steps.check) }),
  publish: fromPromiseStep(steps.publish),
  ...(steps.keepsReleases === undefined ? {} : { keepsReleases: steps.keepsReleases }),
  ...(steps.has === undefined ? {} : { has: fromPromiseCall(steps.has) }),
  ...(steps.discard === undefined ? {} : { discard: fromPromiseCall(steps.discard) }),
  ...(steps.remove === undefined ? {} : { remove: fromPromiseCall(steps.remove) }),
  ...(steps.url === undefined ? {} : { url: steps.url })
})

/** An in-memory target for tests. It serves the uploaded archive at every path. */
export const memoryTarget = (): DeploymentTarget => {
  const releases = new Map<string, Buffer>()
  return {
    publish: ({ id, source }) =>
      Stream.runCollect(source).pipe(
        Effect.tap((chunks) => Effect.sync(() => releases.set(id, Buffer.concat(chunks)))),
        Effect.asVoid,
        Effect.mapError(({ problem }) => new StepFailed({ problem }))
      ),
    has: (id) => Effect.sync(() => releases.has(id)),
    discard: (id) => Effect.sync(() => void releases.delete(id)),
    serve: (id) =>
      Effect.sync(() => {
        const archive = releases.get(id)
        return archive && new Response(new Uint8Array(archive), { headers: { "content-type": "application/gzip" } })
      })
  }
}
