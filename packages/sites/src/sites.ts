/**
 * Deployments on the local disk: a source store, and a target that unpacks, builds, checks, publishes and serves
 * sources. Any number of processes may share the folder.
 */
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { DeploymentOptions } from "@tollgate/deployments"
import { type DeploymentTarget, type Release, SourceStoreError, StepFailed } from "@tollgate/deployments"
import { abortablePromise, FairSemaphore, makeDiskCheck, Options } from "@tollgate/store/internal"
import { Effect, Semaphore, Stream } from "effect"
import { build } from "./build.ts"
import { checkRelease } from "./check.ts"
import { diskSourceStore } from "./diskSourceStore.ts"
import { isMissing } from "./isMissing.ts"
import { defaultLimits, ReleaseRejectedError } from "./limits.ts"
import { decodeManifest } from "./manifest.ts"
import { makeManifestCache } from "./manifestCache.ts"
import { type BuildOptions, type SitesOptions, sitesOptions } from "./options.ts"
import { ReleaseWorkers } from "./ReleaseWorkers.ts"
import { filesName, manifestName } from "./releaseFiles.ts"
import { serve } from "./serve.ts"

/** The names inside the folder of a release, until its files are stored by digest: the unpacked source. */
const contentName = "content"
/** The home directory and temporary files of a build. */
const scratchName = "scratch"

const defaultWorkers = 2

/** Maps errors that the source's author can fix. A missing source was replaced by a later upload. */
const toStepFailed = (error: unknown): StepFailed | undefined =>
  error instanceof ReleaseRejectedError || (error instanceof SourceStoreError && isMissing(error.cause))
    ? new StepFailed({ problem: error.message })
    : undefined

/**
 * Runs work on the disk. Problems with the source fail the step; other errors are defects, which the scheduler logs.
 */
const runStep = <A>(work: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, StepFailed> =>
  abortablePromise(work, (error) => error).pipe(Effect.catch((error) => toStepFailed(error) ?? Effect.die(error)))

/**
 * Deployments on the local disk, for the option `deployments`: unpacks sources into a folder, builds them if you want,
 * and serves them. Any number of processes may share the folder.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, publicUrl, modules: [deployments(sites({ folder: "data/sites" }))] })
 * ```
 */
export const sites = (options: SitesOptions): DeploymentOptions => {
  const decoded = Options.decodeSync(sitesOptions, options)
  const { build: buildOptions, workers = defaultWorkers, sourceLimit, productionBranch } = decoded
  const folder = resolve(decoded.folder)
  const limits = Options.withDefaults(defaultLimits, decoded.limits ?? {})
  /** The folder to serve, relative to the folder of a release that is being made. */
  const root = join(contentName, buildOptions?.output ?? "")
  const stagingPath = (id: string): string => join(folder, "staging", id)
  const releasePath = (id: string): string => join(folder, "releases", id)
  const manifests = makeManifestCache(async (id) => decodeManifest(await readFile(join(releasePath(id), manifestName))))
  const workerPool = new ReleaseWorkers(limits)
  const workerTurns = new FairSemaphore(workers)
  /** Accounts take turns: while others wait, none has a second worker. */
  const withWorker = <A>({ deployment }: Release, work: (signal: AbortSignal) => Promise<A>) =>
    workerTurns.withPermit(deployment.accountName, runStep(work))
  // Separate workers, so that a slow source does not delay removals and the limits of sources do not apply to them.
  const removalPool = new ReleaseWorkers(defaultLimits)
  const withRemover = Semaphore.makeUnsafe(1).withPermit

  const remove = (path: string): Effect.Effect<void, unknown> =>
    Effect.suspend(() =>
      existsSync(path) ? withRemover(Effect.tryPromise(() => removalPool.remove(path))) : Effect.void
    )

  const discard = (id: string): Effect.Effect<void, unknown> =>
    Effect.suspend(() => {
      manifests.delete(id)
      return Effect.all([remove(stagingPath(id)), remove(releasePath(id))], { discard: true })
    })

  const runBuild = (options: BuildOptions, { id, log }: Release) =>
    Effect.gen(function* () {
      const context = {
        id,
        folder: join(stagingPath(id), contentName),
        scratch: join(stagingPath(id), scratchName),
        log
      }
      const exitCode = yield* runStep((signal) => build(options, { ...context, signal }))
      if (exitCode === "timed out") {
        return yield* new StepFailed({ problem: "The build exceeded its timeout and was killed" })
      }
      if (exitCode !== 0) return yield* new StepFailed({ problem: `The build exited with code ${exitCode}`, exitCode })
      return { exitCode }
    })

  /** Keeps nothing but the files that the release serves, by digest, and its manifest. */
  const prepareManifest = (release: Release) =>
    Effect.gen(function* () {
      const { id } = release
      const inRelease = (name: string) => join(stagingPath(id), name)
      const removeAll = (...names: ReadonlyArray<string>) =>
        Effect.orDie(Effect.forEach(names, (name) => remove(inRelease(name))))
      // A build may have created these paths, next to its own folder.
      yield* removeAll(filesName, manifestName)
      const earlier = release.earlier.map(releasePath)
      const manifest = yield* withWorker(release, (signal) =>
        workerPool.makeManifest(stagingPath(id), root, earlier, signal)
      )
      yield* removeAll(scratchName, contentName)
      yield* runStep(() => writeFile(inRelease(manifestName), manifest, { flag: "wx" }))
      return decodeManifest(manifest)
    })

  const target: DeploymentTarget = {
    unpack: (release) =>
      withWorker(release, async (signal) => {
        const { id, source, sourceBytes, log } = release
        const contentPath = join(stagingPath(id), contentName)
        await mkdir(contentPath, { recursive: true })
        const unpacked = await workerPool.unpack(Stream.toAsyncIterable(source), contentPath, signal, sourceBytes)
        log(`Unpacked ${unpacked.files} files, ${unpacked.bytes} bytes`)
        return unpacked
      }),

    build: (release) => (buildOptions === undefined ? Effect.succeed("skipped") : runBuild(buildOptions, release)),

    check: (release) =>
      Effect.gen(function* () {
        const { id, log } = release
        const manifest = yield* prepareManifest(release)
        const path = yield* runStep((signal) => checkRelease(stagingPath(id), manifest, signal))
        log(`Checked ${path}`)
      }),

    publish: ({ id }) =>
      runStep(async () => {
        await mkdir(join(folder, "releases"), { recursive: true })
        await rename(stagingPath(id), releasePath(id))
      }),

    has: (id) => Effect.tryPromise(() => removalPool.isWhole(releasePath(id))),

    discard,

    measure: (ids) => Effect.tryPromise(() => removalPool.measure(ids.map(releasePath))),

    sweep: (isInUse) =>
      Effect.gen(function* () {
        for (const subfolder of ["staging", "releases"]) {
          const ids = yield* Effect.promise(() => readdir(join(folder, subfolder)).catch(() => []))
          for (const id of ids) {
            if (yield* isInUse(id)) continue
            // Continues with the other releases if one cannot be removed.
            yield* discard(id).pipe(
              Effect.catch((error) => Effect.logWarning(`Removing the release ${id} failed`, error))
            )
          }
        }
      }),

    serve: (id, path, request) =>
      Effect.promise(async () => {
        try {
          return await serve(releasePath(id), await manifests.get(id), path, request)
        } catch (error) {
          if (isMissing(error)) return undefined
          throw error
        }
      })
  }

  const isDiskLow = makeDiskCheck(folder, decoded.freeDiskReserveMebibytes)
  return { sources: { ...diskSourceStore(join(folder, "sources")), isDiskLow }, target, sourceLimit, productionBranch }
}
