/**
 * Where sources are kept, where they are deployed, and at which addresses both are found. Nothing, unless the host
 * configured it.
 */
import { Context, Effect } from "effect"
import { ConfigurationError } from "../shared/ConfigurationError.ts"
import { DeploymentsNotConfigured } from "./DeploymentError.ts"
import type { DeploymentTarget } from "./DeploymentTarget.ts"
import type { SourceStore } from "./SourceStore.ts"

export interface DeploymentOptions {
  readonly sources: SourceStore
  readonly target: DeploymentTarget
  /** Bytes that a source may have: 100 MiB, unless said otherwise. */
  readonly sourceLimit?: number
  /** The branch whose deployment is `PRODUCTION`: `main`, unless said otherwise. */
  readonly productionBranch?: string
}

export interface HostingOptions {
  /** What sources are uploaded to and deployed on. Without it, deployments are answered with 501. */
  readonly deployments?: DeploymentOptions
  /** The interface's address as clients see it, with the path it is mounted at: `https://example.com/api/dev`. */
  readonly publicUrl?: string
  /** An origin of its own for sites, which are strangers' code; without it, they are served in a sandbox. */
  readonly sitesUrl?: string
}

export interface HostingShape {
  readonly sources: SourceStore
  readonly target: DeploymentTarget
  readonly sourceLimit: number
  readonly productionBranch: string
  readonly publicUrl: string
  readonly sitesUrl: string | undefined
}

export const Hosting = Context.Reference<HostingShape | undefined>("@tollgate/core/deployments/Hosting", {
  defaultValue: () => undefined
})

/** The hosting, or what to say where there is none. */
export const orNotConfigured = (
  hosting: HostingShape | undefined
): Effect.Effect<HostingShape, DeploymentsNotConfigured> =>
  hosting === undefined ? Effect.fail(new DeploymentsNotConfigured()) : Effect.succeed(hosting)

/** Where a deployment is found. */
export const urlOf = ({ target, publicUrl, sitesUrl }: HostingShape, name: string): string =>
  target.url?.(name) ?? `${sitesUrl ?? publicUrl}/sites/${name}/`

const address = (option: string, value: string): Effect.Effect<string, ConfigurationError> => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === ""
    ? Effect.succeed(value.replace(/\/+$/, ""))
    : Effect.fail(new ConfigurationError({ option, problem: "give an address, such as https://example.com/api/dev" }))
}

/** The options, checked. */
export const hostingFor = Effect.fnUntraced(function* ({
  deployments,
  publicUrl,
  sitesUrl
}: HostingOptions): Effect.fn.Return<HostingShape | undefined, ConfigurationError> {
  const wrong = (option: string, problem: string) => new ConfigurationError({ option, problem })
  const publicAddress = publicUrl === undefined ? undefined : yield* address("publicUrl", publicUrl)
  const sitesAddress = sitesUrl === undefined ? undefined : yield* address("sitesUrl", sitesUrl)
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
  if (sitesAddress !== undefined && new URL(sitesAddress).host === new URL(publicAddress).host) {
    return yield* wrong("sitesUrl", "give a host that is not publicUrl's: sites are strangers' code")
  }
  return { sources, target, sourceLimit, productionBranch, publicUrl: publicAddress, sitesUrl: sitesAddress }
})
