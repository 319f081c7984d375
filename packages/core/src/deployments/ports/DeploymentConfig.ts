/**
 * Where sources are kept, where they are deployed, and at which addresses both are found. Nothing, unless the host
 * configured it.
 */
import { Context, Effect } from "effect"
import { ConfigurationError } from "../../runtime/ConfigurationError.ts"
import { DeploymentsNotConfigured } from "../model/DeploymentError.ts"
import type { DeploymentTarget } from "./DeploymentTarget.ts"
import { parseOrigin, parseSitesUrl, type SitesUrl } from "./SitesUrl.ts"
import type { SourceStore } from "./SourceStore.ts"

export interface DeploymentOptions {
  readonly sources: SourceStore
  readonly target: DeploymentTarget
  /** Bytes that a source may have: 100 MiB, unless said otherwise. */
  readonly sourceLimit?: number
  /** The branch whose deployment is `PRODUCTION`: `main`, unless said otherwise. */
  readonly productionBranch?: string
}

export interface DeploymentConfigOptions {
  /** What sources are uploaded to and deployed on. Without it, deployments are answered with 501. */
  readonly deployments?: DeploymentOptions | undefined
  /** The interface's address as clients see it, with the path it is mounted at: `https://example.com/api/dev`. */
  readonly publicUrl?: string | undefined
  /**
   * The host of sites, which are untrusted code: it serves sites and nothing else. `https://{name}.sites.example` gives each
   * deployment an origin of its own; `https://sites.example` is one origin for all of them. Use a domain on which nothing
   * else runs. Without this option, sites are served in a sandbox.
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
  "@tollgate/core/deployments/ports/DeploymentConfig",
  {
    defaultValue: () => undefined
  }
)

/** The hosting, or what to say where there is none. */
export const orNotConfigured = (
  hosting: DeploymentConfigShape | undefined
): Effect.Effect<DeploymentConfigShape, DeploymentsNotConfigured> =>
  hosting === undefined ? Effect.fail(new DeploymentsNotConfigured()) : Effect.succeed(hosting)

/** Where a deployment is found. */
export const deploymentUrl = ({ target, publicUrl, sites }: DeploymentConfigShape, name: string): string =>
  target.url?.(name) ?? sites?.urlOf(name) ?? `${publicUrl}/sites/${name}/`

/** The options, checked. */
export const deploymentConfigLayer = Effect.fnUntraced(function* ({
  deployments,
  publicUrl,
  sitesUrl
}: DeploymentConfigOptions): Effect.fn.Return<DeploymentConfigShape | undefined, ConfigurationError> {
  const wrong = (option: string, problem: string) => new ConfigurationError({ option, problem })
  const publicAddress = publicUrl === undefined ? undefined : yield* parseOrigin("publicUrl", publicUrl)
  const sites = sitesUrl === undefined ? undefined : yield* parseSitesUrl(sitesUrl, publicAddress)
  if (deployments === undefined) return undefined
  const { sources, target, sourceLimit = 100 * 1024 * 1024, productionBranch = "main" } = deployments
  if (typeof sources?.put !== "function" || typeof target?.publish !== "function") {
    return yield* wrong("deployments", "give sources and target, such as those of @tollgate/sites")
  }
  if (publicAddress === undefined) {
    return yield* wrong("publicUrl", "give the address that clients upload to, such as https://example.com/api/dev")
  }
  if (!Number.isSafeInteger(sourceLimit) || sourceLimit < 1) {
    return yield* wrong("deployments.sourceLimit", "give a number of bytes, an integer from 1")
  }
  return { sources, target, sourceLimit, productionBranch, publicUrl: publicAddress, sites }
})
