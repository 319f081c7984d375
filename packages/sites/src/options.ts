/**
 * The options of `sites`.
 */
import { isAbsolute, normalize } from "node:path"
import type { DeploymentOptions } from "@tollgate/deployments"
import { BranchName } from "@tollgate/deployments"
import { Options } from "@tollgate/store/internal"
import { Predicate, Schema } from "effect"
import type { UnpackLimits } from "./limits.ts"

/** The options of `sites`. Only `folder` is required. */
export interface SitesOptions extends Pick<DeploymentOptions, "sourceLimit" | "productionBranch"> {
  /** The folder for sources and releases. Created if it does not exist. */
  readonly folder: string
  /** The build command for each source. Without it, Tollgate never executes anything from an upload. */
  readonly build?: BuildOptions | undefined
  /** The limits for unpacking a source. Defaults include 20,000 entries, 500 MiB and one minute. */
  readonly limits?: LimitOptions | undefined
  /**
   * How much of the disk of `folder` must be free, in mebibytes; 256 by default, 0 for no reserve. With less, uploads are
   * refused (507), while sites are served.
   */
  readonly freeDiskReserveMebibytes?: number | undefined
  /** The number of worker threads that unpack sources and read releases concurrently. Default: 2. */
  readonly workers?: number | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * A build is not a sandbox. Without `uid` and `gid`, the command and all code from the upload run as the user of your
 * server. They can read the environment of the server process (`/proc/<pid>/environ`, with your secrets), its files and
 * its database, and they can signal the server. With `uid` and `gid`, the build runs as another user, but still has
 * access to the network and to the CPU, memory and disk of the machine. Build untrusted sources in a container or a
 * virtual machine.
 */
export interface BuildOptions {
  /** The shell command, run in the folder of the unpacked source: `npm ci && npm run build`. */
  readonly command: string
  /** The time in milliseconds after which the command and all its processes are killed. Default: ten minutes. */
  readonly timeout?: number | undefined
  /**
   * Variables besides `PATH`, `HOME`, `TMPDIR`, `LANG` and `CI`. The build does not inherit the server's environment.
   */
  readonly env?: Environment | undefined
  /** The folder to serve, relative to the source folder, such as `dist`. Default: the source folder. */
  readonly output?: string | undefined
  /**
   * The user and group that run the command. Set both. The server must be allowed to change users (for example, run as
   * root), and the user must have access to `folder`.
   */
  readonly uid?: number | undefined
  readonly gid?: number | undefined
}

/** Whether the folder is below the folder that it is relative to. */
const isBelow = (folder: string): boolean => !isAbsolute(folder) && !normalize(folder).split("/").includes("..")

const userId = Options.value(
  (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
  "must be a numeric id, an integer of at least 0"
)

const buildOptions = Options.struct<BuildOptions>()({
  command: Options.string("must be a shell command, such as npm ci && npm run build", (command) => command !== ""),
  timeout: Options.optional(Options.timeout()),
  env: Options.optional(
    Options.value(
      (value): value is Environment =>
        Predicate.isObject(value) &&
        Object.values(value).every((text) => text === undefined || typeof text === "string"),
      "must be an object whose values are strings"
    )
  ),
  output: Options.optional(Options.string("must be a folder below the source folder, such as dist", isBelow)),
  uid: Options.optional(userId),
  gid: Options.optional(userId)
}).check(
  // With `uid` alone, the build would run with the server's group.
  Schema.makeFilter(({ uid, gid }) =>
    (uid === undefined) === (gid === undefined) ? undefined : "uid and gid must be set together"
  )
)

/** Limits for unpacking a source. A limit that is left out keeps its default. */
export type LimitOptions = { readonly [Name in keyof UnpackLimits]?: UnpackLimits[Name] | undefined }

const limit = Options.optional(Options.positiveInteger())

const limitOptions = Options.struct<LimitOptions>()({
  entries: limit,
  bytes: limit,
  unpackRatio: limit,
  depth: limit,
  pathBytes: limit,
  headerBytes: limit,
  timeoutMs: Options.optional(Options.timeout()),
  memoryMb: limit
})

export const folderPath = Options.string("must be the path of a folder", (folder) => folder !== "")

export const sitesOptions = Options.struct<SitesOptions>()({
  folder: folderPath,
  build: Options.optional(buildOptions),
  limits: Options.optional(limitOptions),
  freeDiskReserveMebibytes: Options.optional(Options.freeDiskReserve),
  workers: Options.optional(Options.positiveInteger()),
  sourceLimit: Options.optional(Options.positiveInteger("must be a number of bytes, a positive integer")),
  productionBranch: Options.optional(Options.string("must be the name of a branch", Schema.is(BranchName)))
})
