import { defineModule, type Module, Options } from "@tollgate/core/module"
import { Effect, Layer, Stream } from "effect"
import {
  DeploymentConfig,
  type DeploymentOptions,
  deploymentOptions,
  makeDeploymentConfig
} from "../config/DeploymentConfig.ts"
import { receiveUpload } from "../http/receiveUpload.ts"
import { sitesHosts, sitesRoutes } from "../http/sitesRoute.ts"
import { deploymentLimits } from "../model/deploymentLimits.ts"
import { projectPartition } from "../model/deploymentRecords.ts"
import { projects } from "../model/nameRecords.ts"
import { deploymentDirectory } from "../model/partitions.ts"
import { DeploymentScheduler } from "../runner/DeploymentScheduler.ts"
import { Deployments } from "../services/Deployments.ts"
import { Projects } from "../services/Projects.ts"
import { searchDeployments } from "../services/searchDeployments.ts"
import { Uploads } from "../uploads/Uploads.ts"
import { deploymentExamples } from "./deploymentExamples.ts"
import type { DeploymentsOfAccount } from "./deploymentHandles.ts"
import { deploymentsClient } from "./deploymentsDeclaration.ts"

// Here, because declarations of the package refer to this file.
declare module "@tollgate/core/module" {
  interface LimitsShape {
    /** Projects that have at least one deployment. */
    readonly projectsPerAccount: number
    readonly deploymentsPerAccount: number
    /** Upload URLs that are neither used nor expired. */
    readonly openUploadsPerAccount: number
    /** Concurrent uploads; multiplied by `sourceLimit`, it bounds the disk space of unfinished uploads. */
    readonly concurrentUploadsPerAccount: number
    /** Bytes of sources and releases. */
    readonly deploymentBytesPerAccount: number
  }
}

/** The services of deployments. */
export type DeploymentServices = DeploymentConfig | Projects | Deployments | Uploads

/** Deployments, as a module: what `deployments` returns. */
export type DeploymentsModule = Module<DeploymentsOfAccount, object, DeploymentServices>

const makeModule = (options: DeploymentOptions): DeploymentsModule =>
  defineModule({
    ...deploymentsClient,
    limits: deploymentLimits,
    layer: Layer.mergeAll(Projects.layer, Deployments.layer, Uploads.layer).pipe(
      Layer.provide(DeploymentScheduler.layer),
      Layer.provideMerge(Layer.effect(DeploymentConfig, makeDeploymentConfig(options)))
    ),
    operations: Effect.gen(function* () {
      const uploads = yield* Uploads
      return {
        projects: yield* Projects,
        deployments: { ...(yield* Deployments), ...uploads },
        uploads: { receive: receiveUpload(uploads) }
      }
    }),
    owners: Effect.map(Deployments, ({ getProject }) => ({
      deployment: ({ deploymentName = "" }) => getProject(deploymentName)
    })),
    accountDetails: Effect.map(
      Uploads,
      ({ readBytes }) =>
        (accountName: string) =>
          Effect.map(readBytes(accountName), (deploymentBytes) => ({ deploymentBytes }))
    ),
    search: searchDeployments,
    accountExample: { deploymentBytes: { used: 52_428_800, max: 10_737_418_240 } },
    examples: deploymentExamples,
    routes: sitesRoutes,
    hosts: sitesHosts,
    // Runs and removals of deployments, and releases that are not needed any more.
    work: { heldKeys: ["version/", "removal/", "leftover/"] },
    partitions: (accountName) =>
      Stream.map(
        projects.stream(deploymentDirectory, { where: [`account:${accountName}`], pageSize: 1000 }),
        ({ value }) => projectPartition(value)
      )
  })

/**
 * Deploys branches of projects. `sites()` of `@tollgate/sites` returns the options for the local disk.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, publicUrl, modules: [deployments(sites({ folder: "data/sites" }))] })
 * ```
 */
export const deployments = (options: DeploymentOptions): DeploymentsModule =>
  makeModule(Options.decodeSync(deploymentOptions, options, "deployments"))
