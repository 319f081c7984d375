/**
 * Deployments on the disk of this machine: sources, and a target that unpacks, builds, checks, publishes and serves
 * them. Any number of processes may share the folder.
 */
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { isAbsolute, join, normalize, resolve } from "node:path"
import { type DeploymentOptions, type DeploymentTarget, type Release, StepFailed, untilSettled } from "@tollgate/core"
import { Effect, Stream } from "effect"
import { type BuildOptions, build } from "./build.ts"
import { check } from "./check.ts"
import { diskSources } from "./diskSources.ts"
import { type Manifest, manifestOf, Unservable } from "./manifest.ts"
import { serve } from "./serve.ts"
import { defaultLimits, Rejected, type UnpackLimits, unpack } from "./unpack.ts"

export interface SitesOptions extends Pick<DeploymentOptions, "sourceLimit" | "productionBranch"> {
  /** Where sources and releases are kept; made if it is not there. */
  readonly folder: string
  /** Runs a command over each source. Without it, nothing of an upload is ever run. */
  readonly build?: BuildOptions
  /** What an archive may unpack to: 20,000 entries and 500 MiB, unless said otherwise. */
  readonly limits?: Partial<UnpackLimits>
}

const manifestName = "manifest.json"
const contentName = "content"
const scratchName = "scratch"

/** How many releases are remembered: their manifests need not be read for every request. */
const remembered = 100

const isMissing = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "code" in error &&
  (error.code === "ENOENT" || error.code === "ENOTDIR")

/** A folder below another: no way up, no way out. */
const outputIn = ({ output = "" }: BuildOptions): string => {
  const folder = normalize(output)
  if (isAbsolute(folder) || folder.split("/").includes("..")) {
    throw new TypeError("build.output: give a folder below the source's, such as dist")
  }
  return folder
}

/** Runs work on the disk. Only what is wrong with the source is told; what the system says is for the log. */
const step = <A>(work: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, StepFailed> =>
  untilSettled(work, (error) => error).pipe(
    Effect.catch((error) =>
      error instanceof Rejected || error instanceof Unservable
        ? Effect.fail(new StepFailed({ problem: error.message }))
        : Effect.die(error)
    )
  )

/** Removes a folder, also one that its maker has locked. */
const removeFolder = async (path: string): Promise<void> => {
  const remove = () => rm(path, { recursive: true, force: true })
  try {
    await remove()
  } catch {
    await unlock(path)
    await remove()
  }
}

const unlock = async (path: string): Promise<void> => {
  await chmod(path, 0o700)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await unlock(join(path, entry.name))
  }
}

/**
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, publicUrl, deployments: sites({ folder: "data/sites" }) })
 * ```
 */
export const sites = (options: SitesOptions): DeploymentOptions => {
  if (typeof options.folder !== "string" || options.folder === "") throw new TypeError("folder: give a path")
  const folder = resolve(options.folder)
  const limits = { ...defaultLimits, ...options.limits }
  const root = options.build === undefined ? contentName : join(contentName, outputIn(options.build))
  const staged = (id: string): string => join(folder, "staging", id)
  const published = (id: string): string => join(folder, "releases", id)
  const manifests = new Map<string, Manifest>()

  const manifestAt = async (place: string): Promise<Manifest> =>
    JSON.parse(await readFile(join(place, manifestName), "utf8"))

  const manifestFor = async (id: string): Promise<Manifest> => {
    const known = manifests.get(id)
    if (known !== undefined) return known
    const manifest = await manifestAt(published(id))
    if (manifests.size >= remembered) manifests.delete(manifests.keys().next().value ?? "")
    manifests.set(id, manifest)
    return manifest
  }

  const discard = async (id: string): Promise<void> => {
    manifests.delete(id)
    await Promise.all([staged(id), published(id)].map(removeFolder))
  }

  const runBuild = (options: BuildOptions, { id, log }: Release) =>
    Effect.gen(function* () {
      const context = { id, folder: join(staged(id), contentName), scratch: join(staged(id), scratchName), log }
      const exitCode = yield* step((signal) => build(options, { ...context, signal }))
      if (exitCode === "timed out") {
        return yield* new StepFailed({ problem: "the build took too long, and was ended" })
      }
      if (exitCode !== 0) return yield* new StepFailed({ problem: `the build ended with ${exitCode}`, exitCode })
      return { exitCode }
    })

  const prepareManifest = async (id: string, signal: AbortSignal): Promise<Manifest> => {
    const manifest = await manifestOf(staged(id), root, limits, signal)
    const path = join(staged(id), manifestName)
    await Promise.all([removeFolder(join(staged(id), scratchName)), rm(path, { recursive: true, force: true })])
    await writeFile(path, JSON.stringify(manifest), { flag: "wx" })
    return manifest
  }

  const target: DeploymentTarget = {
    unpack: ({ id, source, log }) =>
      step(async (signal) => {
        const place = join(staged(id), contentName)
        await mkdir(place, { recursive: true })
        const unpacked = await unpack(Stream.toAsyncIterable(source), place, limits, signal)
        log(`Unpacked ${unpacked.files} files, ${unpacked.bytes} bytes`)
        return unpacked
      }),

    build: (release) => (options.build === undefined ? Effect.succeed("skipped") : runBuild(options.build, release)),

    check: ({ id, log }) =>
      step(async (signal) => {
        const path = await check(staged(id), await prepareManifest(id, signal), signal)
        log(`Checked ${path}`)
      }),

    publish: ({ id }) =>
      step(async () => {
        await mkdir(join(folder, "releases"), { recursive: true })
        await rename(staged(id), published(id))
      }),

    discard: (id) => Effect.tryPromise(() => discard(id)),

    sweep: (isWanted) =>
      Effect.gen(function* () {
        for (const place of ["staging", "releases"]) {
          const ids = yield* Effect.promise(() => readdir(join(folder, place)).catch(() => []))
          for (const id of ids) {
            if (yield* isWanted(id)) continue
            // One that cannot be removed keeps no other from going.
            yield* Effect.tryPromise(() => discard(id)).pipe(
              Effect.catch((error) => Effect.logWarning(`The release ${id} cannot be removed`, error.cause))
            )
          }
        }
      }),

    serve: (id, path, request) =>
      Effect.promise(async () => {
        try {
          return await serve(published(id), await manifestFor(id), path, request)
        } catch (error) {
          if (isMissing(error)) return undefined
          throw error
        }
      })
  }

  return {
    sources: diskSources(join(folder, "sources")),
    target,
    ...(options.sourceLimit === undefined ? {} : { sourceLimit: options.sourceLimit }),
    ...(options.productionBranch === undefined ? {} : { productionBranch: options.productionBranch })
  }
}
