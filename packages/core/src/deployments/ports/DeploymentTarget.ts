/**
 * The port by which a source becomes something that is served. A target runs the steps of one release at a time; when
 * a step is run, by whom, and which release is the current one, is decided elsewhere.
 */
import { Effect, Schema, Stream } from "effect"
import { abortablePromise } from "../../runtime/abortablePromise.ts"
import type { Branch, DeploymentName, EnvironmentType } from "../model/Deployment.ts"
import type { SourceStoreError } from "../model/DeploymentError.ts"

/** A step failed for a reason that the one who deploys is to read. */
export class StepFailed extends Schema.TaggedError<StepFailed>()("StepFailed", {
  problem: Schema.String,
  exitCode: Schema.optionalKey(Schema.Int)
}) {
  override get message(): string {
    return this.problem
  }
}

/** One run over one source. */
export interface Release {
  /** Never used twice; letters, digits, `-` and `.` alone, so that it can be a folder's name. */
  readonly id: string
  readonly deployment: Branch & { readonly name: DeploymentName; readonly environmentType: EnvironmentType }
  /** The archive as it was uploaded. */
  readonly source: Stream.Stream<Uint8Array, SourceStoreError>
  /** A line for whoever watches. */
  readonly log: (line: string) => void
}

export interface DeploymentTarget {
  /** Takes the source apart; what it gives is shown as `buildResult`. A step that a target lacks is skipped. */
  readonly unpack?: (release: Release) => Effect.Effect<{ readonly files: number; readonly bytes: number }, StepFailed>
  readonly build?: (release: Release) => Effect.Effect<{ readonly exitCode: number } | "skipped", StepFailed>
  /** Asks the release, before anybody else can. */
  readonly check?: (release: Release) => Effect.Effect<void, StepFailed>
  /**
   * Makes the release ready to be served. It becomes the current one by a commit right after this, unless the run was
   * lost in the meantime; then it is discarded.
   */
  readonly publish: (release: Release) => Effect.Effect<void, StepFailed>
  /** Removes a release that is not served, or no longer; also one that never came far. Repeatable. */
  readonly discard?: (releaseId: string) => Effect.Effect<void, unknown>
  /** The deployment is gone: removes whatever there is of it. Repeatable. */
  readonly remove?: (deploymentName: string) => Effect.Effect<void, unknown>
  /** Removes what was left behind by processes that died: every release that is not wanted. */
  readonly sweep?: (isWanted: (releaseId: string) => Effect.Effect<boolean>) => Effect.Effect<void, unknown>
  /** Where the deployment is found; below `/sites/` of this server, if the target does not say. */
  readonly url?: (deploymentName: string) => string
  /**
   * Answers a request for a path of a release, such as `/` or `/docs/a.html`; nothing, if the release is not here.
   * Without this, `/sites/` is not served.
   */
  readonly serve?: (releaseId: string, path: string, request: Request) => Effect.Effect<Response | undefined>
}

/** What a step of `targetOf` is given. */
export interface PromiseRelease extends Pick<Release, "id" | "deployment" | "log"> {
  readonly source: () => ReadableStream<Uint8Array>
  /** Aborted when the run is over before the step is: another upload came, or the server stops. */
  readonly signal: AbortSignal
}

/** A target of promises. What a step throws is how it failed, and its message is shown. */
export interface PromiseTarget {
  readonly unpack?: (release: PromiseRelease) => Promise<{ readonly files: number; readonly bytes: number }>
  readonly build?: (release: PromiseRelease) => Promise<{ readonly exitCode: number } | "skipped">
  readonly check?: (release: PromiseRelease) => Promise<void>
  readonly publish: (release: PromiseRelease) => Promise<void>
  readonly discard?: (releaseId: string) => Promise<void>
  readonly remove?: (deploymentName: string) => Promise<void>
  readonly url?: (deploymentName: string) => string
}

const toPromiseRelease =
  <A>(step: (release: PromiseRelease) => Promise<A>) =>
  ({ id, deployment, log, source }: Release): Effect.Effect<A, StepFailed> =>
    abortablePromise(
      (signal) => step({ id, deployment, log, signal, source: () => Stream.toReadableStream(source) }),
      (error) => new StepFailed({ problem: error instanceof Error ? error.message : String(error) })
    )

const callStep = (call: (name: string) => Promise<void>) => (name: string) =>
  Effect.tryPromise({ try: () => call(name), catch: (error) => error })

/**
 * A target from functions that give promises.
 *
 * @example
 * ```ts
 * const target = targetOf({ publish: ({ deployment, source }) => copy(source(), `/srv/${deployment.name}.tar.gz`) })
 * ```
 */
export const targetFromPromises = (steps: PromiseTarget): DeploymentTarget => ({
  ...(steps.unpack === undefined ? {} : { unpack: toPromiseRelease(steps.unpack) }),
  ...(steps.build === undefined ? {} : { build: toPromiseRelease(steps.build) }),
  ...(steps.check === undefined ? {} : { check: toPromiseRelease(steps.check) }),
  publish: toPromiseRelease(steps.publish),
  ...(steps.discard === undefined ? {} : { discard: callStep(steps.discard) }),
  ...(steps.remove === undefined ? {} : { remove: callStep(steps.remove) }),
  ...(steps.url === undefined ? {} : { url: steps.url })
})

/** A target in memory, for tests: it serves the archive itself, as it was uploaded, at every path. */
export const memoryTarget = (): DeploymentTarget => {
  const releases = new Map<string, Buffer>()
  return {
    publish: ({ id, source }) =>
      Stream.runCollect(source).pipe(
        Effect.tap((chunks) => Effect.sync(() => releases.set(id, Buffer.concat(chunks)))),
        Effect.asVoid,
        Effect.mapError(({ problem }) => new StepFailed({ problem }))
      ),
    discard: (id) => Effect.sync(() => void releases.delete(id)),
    serve: (id) =>
      Effect.sync(() => {
        const archive = releases.get(id)
        return archive && new Response(new Uint8Array(archive), { headers: { "content-type": "application/gzip" } })
      })
  }
}
