/**
 * `tollgate/deployments`: deployments, as a module of `createTollgate`.
 */

export {
  type DeploymentOptions,
  type DeploymentsModule,
  type DeploymentTarget,
  deployments,
  memorySourceStore,
  memoryTarget,
  type PromiseRelease,
  type PromiseTarget,
  type SignedUploadUrl,
  type SourceContent,
  type SourceStore,
  StepFailed,
  targetFromPromises,
  type UnpackedSource
} from "@tollgate/deployments"
export * from "@tollgate/deployments/client"
