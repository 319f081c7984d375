/**
 * The deployment configuration: the source store, the target, and the public URLs. Undefined without the `deployments`
 * option.
 */
import { Context, Effect, Schema } from "effect"
import * as Options from "../../runtime/Options.ts"
import { BranchName } from "../../schema/Names.ts"
import { DeploymentsNotConfigured } from "../model/DeploymentError.ts"
import type { DeploymentTarget } from "../ports/DeploymentTarget.ts"
import type { SourceStore } from "../ports/SourceStore.ts"
import { baseUrl, makeSitesUrl, removeTrailingSlashes, type SitesUrl, sitesUrl } from "./SitesUrl.ts"

/**
 * Where deployments keep their sources and how they are served. `sites()` of `@tollgate/sites` returns them for the
 * local disk.
 */
export interface DeploymentOptions {
  readonly sources: SourceStore
  readonly target: DeploymentTarget
  /** The maximum size of a source in bytes. Default: 100 MiB. */
  readonly sourceLimit?: number | undefined
  /** The branch whose deployment has the environment type `PRODUCTION`. Default: `main`. */
  readonly productionBranch?: string | undefined
}

export interface DeploymentConfigOptions {
  /** Where sources are stored and deployed. Without this option, the deployment endpoints respond with 501. */
  readonly deployments?: DeploymentOptions | undefined
  /** The public URL of the HTTP API, including the path it is mounted at: `https://example.com/api/dev`. */
  readonly publicUrl?: string | undefined
  /**
   * The URL of the host that serves sites and nothing else, since sites are untrusted code. With
   * `https://{name}.sites.example`, each deployment has a separate origin; with `https://sites.example`, all
   * deployments share one. Use a domain on which nothing else runs. Without this option, Tollgate serves sites with a
   * sandbox policy.
   */
  readonly sitesUrl?: string | undefined
}

const deploymentOptions = Options.struct<DeploymentOptions>()({
  sources: Options.value(
    (value): value is SourceStore => Options.hasMethods(value, "put", "open", "remove"),
    "must be a source store, such as that of sites() of @tollgate/sites"
  ),
  target: Options.value(
    (value): value is DeploymentTarget => Options.hasMethods(value, "publish"),
    "must be a deployment target, such as that of sites() of @tollgate/sites"
  ),
  sourceLimit: Options.optional(Options.positiveInteger("must be a number of bytes, a positive integer")),
  productionBranch: Options.optional(Options.string("must be the name of a branch", Schema.is(BranchName)))
})

export const deploymentFields = {
  deployments: Options.optional(deploymentOptions),
  publicUrl: Options.optional(baseUrl),
  sitesUrl: Options.optional(sitesUrl)
}

/** Checks the options against each other. Sites are untrusted code, so their host must differ from that of the API. */
export const checkDeploymentOptions = ({
  deployments,
  publicUrl,
  sitesUrl
}: DeploymentConfigOptions): Schema.FilterOutput => {
  if (deployments !== undefined && publicUrl === undefined) {
    const issue = "is required for deployments: the URL that clients upload to, such as https://example.com/api/dev"
    return { path: ["publicUrl"], issue }
  }
  if (publicUrl === undefined || sitesUrl === undefined) return undefined
  if (makeSitesUrl(sitesUrl).matchHost(new URL(publicUrl).hostname) === undefined) return undefined
  const issue = "must have a different host than publicUrl, regardless of the port, since sites are untrusted code"
  return { path: ["sitesUrl"], issue }
}

export interface DeploymentConfigShape {
  readonly sources: SourceStore
  readonly target: DeploymentTarget
  readonly sourceLimit: number
  readonly productionBranch: string
  readonly publicUrl: string
  readonly sites: SitesUrl | undefined
}

export const DeploymentConfig = Context.Reference<DeploymentConfigShape | undefined>(
  "@tollgate/core/deployments/config/DeploymentConfig",
  {
    defaultValue: () => undefined
  }
)

export const requireConfig = (
  config: DeploymentConfigShape | undefined
): Effect.Effect<DeploymentConfigShape, DeploymentsNotConfigured> =>
  config === undefined ? Effect.fail(new DeploymentsNotConfigured()) : Effect.succeed(config)

/** The public URL of a deployment. */
export const deploymentUrl = ({ target, publicUrl, sites }: DeploymentConfigShape, name: string): string =>
  target.url?.(name) ?? sites?.siteUrl(name) ?? `${publicUrl}/sites/${name}/`

/** Makes the configuration from valid options, with the defaults. */
export const makeDeploymentConfig = ({
  deployments,
  publicUrl,
  sitesUrl
}: DeploymentConfigOptions): DeploymentConfigShape | undefined => {
  if (deployments === undefined || publicUrl === undefined) return undefined
  const { sources, target, sourceLimit = 100 * 1024 * 1024, productionBranch = "main" } = deployments
  const sites = sitesUrl === undefined ? undefined : makeSitesUrl(sitesUrl)
  return { sources, target, sourceLimit, productionBranch, publicUrl: removeTrailingSlashes(publicUrl), sites }
}
