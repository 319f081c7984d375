/**
 * The deployment configuration: the source store, the target, and the public URLs.
 */
import { ConfigurationError, Options, PublicUrl } from "@tollgate/core/module"
import { Context, Effect, Schema } from "effect"
import { BranchName } from "../model/names.ts"
import type { DeploymentTarget } from "../ports/DeploymentTarget.ts"
import type { SourceStore } from "../ports/SourceStore.ts"
import { makeSitesUrl, type SitesUrl, sitesUrl } from "./SitesUrl.ts"

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
  /**
   * The URL of the host that serves sites and nothing else, since sites are untrusted code. With
   * `https://{name}.sites.example`, each deployment has a separate origin; with `https://sites.example`, all
   * deployments share one. Use a domain on which nothing else runs. Without this option, Tollgate serves sites with a
   * sandbox policy.
   */
  readonly sitesUrl?: string | undefined
}

export const deploymentOptions = Options.struct<DeploymentOptions>()({
  sources: Options.value(
    (value): value is SourceStore => Options.hasMethods(value, "put", "open", "remove"),
    "must be a source store, such as that of sites() of @tollgate/sites"
  ),
  target: Options.value(
    (value): value is DeploymentTarget => Options.hasMethods(value, "publish"),
    "must be a deployment target, such as that of sites() of @tollgate/sites"
  ),
  sourceLimit: Options.optional(Options.positiveInteger("must be a number of bytes, a positive integer")),
  productionBranch: Options.optional(Options.string("must be the name of a branch", Schema.is(BranchName))),
  sitesUrl: Options.optional(sitesUrl)
})

export interface DeploymentConfigShape {
  readonly sources: SourceStore
  readonly target: DeploymentTarget
  readonly sourceLimit: number
  readonly productionBranch: string
  readonly publicUrl: string
  readonly sites: SitesUrl | undefined
}

/** Where deployments keep their sources and how they are served, with the public URLs. */
export class DeploymentConfig extends Context.Service<DeploymentConfig, DeploymentConfigShape>()(
  "@tollgate/deployments/config/DeploymentConfig"
) {}

/** The public URL of a deployment. */
export const deploymentUrl = ({ target, publicUrl, sites }: DeploymentConfigShape, name: string): string =>
  target.url?.(name) ?? sites?.siteUrl(name) ?? `${publicUrl}/sites/${name}/`

const invalid = (option: string, problem: string) => Effect.fail(new ConfigurationError({ option, problem }))

/** Makes the configuration from valid options, with the defaults. Sites must not share the host of the API. */
export const makeDeploymentConfig = Effect.fnUntraced(function* (options: DeploymentOptions) {
  const { sources, target, sourceLimit = 100 * 1024 * 1024, productionBranch = "main", sitesUrl } = options
  const publicUrl = yield* PublicUrl
  if (publicUrl === undefined) {
    return yield* invalid(
      "publicUrl",
      "is required for deployments: the URL that clients upload to, such as https://example.com/api/dev"
    )
  }
  const sites = sitesUrl === undefined ? undefined : makeSitesUrl(sitesUrl)
  if (sites?.matchHost(new URL(publicUrl).hostname) !== undefined) {
    return yield* invalid(
      "deployments.sitesUrl",
      "must have a different host than publicUrl, regardless of the port, since sites are untrusted code"
    )
  }
  const config: DeploymentConfigShape = { sources, target, sourceLimit, productionBranch, publicUrl, sites }
  return config
})
