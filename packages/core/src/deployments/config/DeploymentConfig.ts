/**
 * The deployment configuration: the source store, the target, and the public URLs. Undefined without the `deployments`
 * option.
 */
import { Context, Effect } from "effect"
import { ConfigurationError } from "../../runtime/ConfigurationError.ts"
import { DeploymentsNotConfigured } from "../model/DeploymentError.ts"
import type { DeploymentTarget } from "../ports/DeploymentTarget.ts"
import type { SourceStore } from "../ports/SourceStore.ts"
import { parseBaseUrl, parseSitesUrl, type SitesUrl } from "./SitesUrl.ts"

export interface DeploymentOptions {
  readonly sources: SourceStore
  readonly target: DeploymentTarget
  /** The maximum size of a source in bytes. Default: 100 MiB. */
  readonly sourceLimit?: number
  /** The branch whose deployment has the environment type `PRODUCTION`. Default: `main`. */
  readonly productionBranch?: string
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

/** Validates the options and fills in the defaults. */
export const parseDeploymentConfig = Effect.fnUntraced(function* ({
  deployments,
  publicUrl,
  sitesUrl
}: DeploymentConfigOptions): Effect.fn.Return<DeploymentConfigShape | undefined, ConfigurationError> {
  const configurationError = (option: string, problem: string) => new ConfigurationError({ option, problem })
  const baseUrl = publicUrl === undefined ? undefined : yield* parseBaseUrl("publicUrl", publicUrl)
  const sites = sitesUrl === undefined ? undefined : yield* parseSitesUrl(sitesUrl, baseUrl)
  if (deployments === undefined) return undefined
  const { sources, target, sourceLimit = 100 * 1024 * 1024, productionBranch = "main" } = deployments
  if (typeof sources?.put !== "function" || typeof target?.publish !== "function") {
    return yield* configurationError("deployments", "must have sources and target, such as those of @tollgate/sites")
  }
  if (baseUrl === undefined) {
    return yield* configurationError(
      "publicUrl",
      "is required for deployments: the URL that clients upload to, such as https://example.com/api/dev"
    )
  }
  if (!Number.isSafeInteger(sourceLimit) || sourceLimit < 1) {
    return yield* configurationError("deployments.sourceLimit", "must be a number of bytes, an integer of at least 1")
  }
  return { sources, target, sourceLimit, productionBranch, publicUrl: baseUrl, sites }
})
