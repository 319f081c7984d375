/**
 * Deployments on the disk of this machine: sources, and a target that unpacks, builds, checks, publishes and serves
 * them. Any number of processes may share the folder.
 */
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises"
import { isAbsolute, join, normalize, resolve } from "node:path"
import {
  abortablePromise,
  type DeploymentOptions,
  type DeploymentTarget,
  type Release,
  SourceStoreError,
  StepFailed
} from "@tollgate/core"
import { Effect, Semaphore, Stream } from "effect"
import { type BuildOptions, build, checkBuildUser } from "./build.ts"
import { check } from "./check.ts"
import { diskSourceStore } from "./diskSourceStore.ts"
import { defaultLimits, InvalidArchiveError, resolveLimits, type UnpackLimits } from "./limits.ts"
import { decodeJsonManifest, decodeManifest } from "./manifest.ts"
import { makeManifestCache } from "./manifestCache.ts"
import { ReleaseWorkers } from "./ReleaseWorkers.ts"
import { serve } from "./serve.ts"

export interface SitesOptions extends Pick<DeploymentOptions, "sourceLimit" | "productionBranch"> {
  /** Where sources and releases are kept; made if it is not there. */
  readonly folder: string
  /** Runs a command over each source. Without it, nothing of an upload is ever run. */
  readonly build?: BuildOptions
  /** What a source may cost to unpack: 20,000 entries, 500 MiB and a minute, unless said otherwise. */
  readonly limits?: Partial<UnpackLimits>
  /** Worker threads that unpack sources and read releases at the same time: 2, unless said otherwise. */
  readonly workers?: number
}

const manifestName = "manifest"
const jsonManifestName = "manifest.json"
const contentName = "content"
const scratchName = "scratch"

const defaultWorkers = 2

const isMissing = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "code" in error &&
  (error.code === "ENOENT" || error.code === "ENOTDIR")

/** A folder below another: no way up, no way out. */
const findOutputFolder = ({ output = "" }: BuildOptions): string => {
  const folder = normalize(output)
  if (isAbsolute(folder) || folder.split("/").includes("..")) {
    throw new TypeError("build.output: give a folder below the source's, such as dist")
  }
  return folder
}

/** What the author of the source is told. A source that has gone was replaced by a later upload. */
const toStepFailed = (error: unknown): StepFailed | undefined =>
  error instanceof InvalidArchiveError || (error instanceof SourceStoreError && isMissing(error.cause))
    ? new StepFailed({ problem: error.message })
    : undefined

/** Runs work on the disk. Only what is wrong with the source is told; what the system says is for the log. */
const runStep = <A>(work: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, StepFailed> =>
  abortablePromise(work, (error) => error).pipe(Effect.catch((error) => toStepFailed(error) ?? Effect.die(error)))

/**
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, publicUrl, deployments: sites({ folder: "data/sites" }) })
 * ```
 */
export const sites = (options: SitesOptions): DeploymentOptions => {
  if (typeof options.folder !== "string" || options.folder === "") throw new TypeError("folder: give a path")
  const folder = resolve(options.folder)
  const limits = resolveLimits(options.limits)
  const { workers = defaultWorkers } = options
  if (!Number.isSafeInteger(workers) || workers < 1) throw new TypeError("workers: give a positive integer")
  if (options.build !== undefined) checkBuildUser(options.build)
  const root = options.build === undefined ? contentName : join(contentName, findOutputFolder(options.build))
  const staged = (id: string): string => join(folder, "staging", id)
  const published = (id: string): string => join(folder, "releases", id)
  const manifests = makeManifestCache(async (id) => {
    try {
      return decodeManifest(await readFile(join(published(id), manifestName)))
    } catch (error) {
      if (!isMissing(error)) throw error
      return decodeJsonManifest(await readFile(join(published(id), jsonManifestName), "utf8"))
    }
  })
  const pool = new ReleaseWorkers(limits)
  const withWorker = Semaphore.makeUnsafe(workers).withPermit
  // Removals wait for no source that takes long, and work whatever the limits of sources are.
  const removers = new ReleaseWorkers(defaultLimits)
  const withRemover = Semaphore.makeUnsafe(1).withPermit

  const remove = (path: string): Effect.Effect<void, unknown> =>
    Effect.suspend(() => (existsSync(path) ? withRemover(Effect.tryPromise(() => removers.remove(path))) : Effect.void))

  const discard = (id: string): Effect.Effect<void, unknown> =>
    Effect.suspend(() => {
      manifests.delete(id)
      return Effect.all([remove(staged(id)), remove(published(id))], { discard: true })
    })

  const runBuild = (options: BuildOptions, { id, log }: Release) =>
    Effect.gen(function* () {
      const context = { id, folder: join(staged(id), contentName), scratch: join(staged(id), scratchName), log }
      const exitCode = yield* runStep((signal) => build(options, { ...context, signal }))
      if (exitCode === "timed out") {
        return yield* new StepFailed({ problem: "the build took too long, and was ended" })
      }
      if (exitCode !== 0) return yield* new StepFailed({ problem: `the build ended with ${exitCode}`, exitCode })
      return { exitCode }
    })

  const prepareManifest = (id: string) =>
    Effect.gen(function* () {
      const manifest = yield* withWorker(runStep((signal) => pool.describe(staged(id), root, signal)))
      const path = join(staged(id), manifestName)
      // A build may have written beside its folder.
      yield* Effect.orDie(Effect.all([remove(join(staged(id), scratchName)), remove(path)]))
      yield* runStep(() => writeFile(path, manifest, { flag: "wx" }))
      return decodeManifest(manifest)
    })

  const target: DeploymentTarget = {
    unpack: ({ id, source, log }) =>
      withWorker(
        runStep(async (signal) => {
          const place = join(staged(id), contentName)
          await mkdir(place, { recursive: true })
          const unpacked = await pool.unpack(Stream.toAsyncIterable(source), place, signal)
          log(`Unpacked ${unpacked.files} files, ${unpacked.bytes} bytes`)
          return unpacked
        })
      ),

    build: (release) => (options.build === undefined ? Effect.succeed("skipped") : runBuild(options.build, release)),

    check: ({ id, log }) =>
      Effect.gen(function* () {
        const manifest = yield* prepareManifest(id)
        const path = yield* runStep((signal) => check(staged(id), manifest, signal))
        log(`Checked ${path}`)
      }),

    publish: ({ id }) =>
      runStep(async () => {
        await mkdir(join(folder, "releases"), { recursive: true })
        await rename(staged(id), published(id))
      }),

    discard,

    sweep: (isWanted) =>
      Effect.gen(function* () {
        for (const place of ["staging", "releases"]) {
          const ids = yield* Effect.promise(() => readdir(join(folder, place)).catch(() => []))
          for (const id of ids) {
            if (yield* isWanted(id)) continue
            // One that cannot be removed keeps no other from going.
            yield* discard(id).pipe(
              Effect.catch((error) => Effect.logWarning(`The release ${id} cannot be removed`, error))
            )
          }
        }
      }),

    serve: (id, path, request) =>
      Effect.promise(async () => {
        try {
          return await serve(published(id), await manifests.get(id), path, request)
        } catch (error) {
          if (isMissing(error)) return undefined
          throw error
        }
      })
  }

  return {
    sources: diskSourceStore(join(folder, "sources")),
    target,
    ...(options.sourceLimit === undefined ? {} : { sourceLimit: options.sourceLimit }),
    ...(options.productionBranch === undefined ? {} : { productionBranch: options.productionBranch })
  }
}
