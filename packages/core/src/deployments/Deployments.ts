/**
 * The operations on deployments: what they are, how they fare, and that they are run again or removed.
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecretBox } from "../crypto/SecretBox.ts"
import { logFailure } from "../runtime/logFailure.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import type { Page, PageRequest } from "../schema/Page.ts"
import { checkVersion, type VersionMismatch } from "../schema/VersionMismatch.ts"
import type { Entry } from "../store/Collection.ts"
import { type Idempotency, type IdempotencyError, idempotentCommit } from "../store/Idempotency.ts"
import type { Partition } from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"
import type { Deployment } from "./model/Deployment.ts"
import { DeploymentNotFound, type DeploymentsNotConfigured, StatusNotFound } from "./model/DeploymentError.ts"
import { type DeploymentStatus, StatusId } from "./model/DeploymentStatus.ts"
import {
  type DeploymentRecord,
  deployments,
  markProjectActive,
  ofDeployment,
  type Project,
  partitionOf,
  type Removal,
  releaseId,
  removals,
  type Version,
  versions
} from "./model/deploymentRecords.ts"
import { findDeployment } from "./model/findDeployment.ts"
import * as Transitions from "./model/versionTransitions.ts"
import {
  DeploymentConfig,
  type DeploymentConfigShape,
  deploymentUrl,
  orNotConfigured
} from "./ports/DeploymentConfig.ts"
import { DeploymentScheduler } from "./runner/DeploymentScheduler.ts"
import { finishRemoval } from "./runner/finishRemoval.ts"

export const DeployResult = Schema.Struct({
  status: Schema.Literals(["request enqueued", "already in progress"])
}).annotate({ identifier: "DeployAnswer" })
export type DeployResult = typeof DeployResult.Type

const toDeployment = (hosting: DeploymentConfigShape, record: DeploymentRecord): Deployment => {
  const { name, accountName, projectName, branchName, createdOn, updatedOn, message, served } = record
  return {
    name,
    url: deploymentUrl(hosting, name),
    label: branchName,
    urlParameter: name,
    createdOn,
    updatedOn,
    loggingId: [accountName, projectName, branchName, name].join("::"),
    accountName,
    projectName,
    state: served !== undefined ? "STARTED" : message === "" ? "PENDING" : "ERRORED",
    message,
    branchName,
    environmentType: branchName === hosting.productionBranch ? "PRODUCTION" : "PREVIEW"
  }
}

/** All of a deployment's versions, oldest first. */
const listVersions = Effect.fnUntraced(function* (partition: Partition, name: string) {
  const found: Array<Entry<Version>> = []
  for (;;) {
    const page = { where: [ofDeployment(name)], offset: found.length, limit: 1000 }
    const { entries, total } = yield* versions.page(partition, page)
    found.push(...entries)
    if (entries.length === 0 || found.length >= total) return found
  }
})

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* SecretBox
  const pipeline = yield* DeploymentScheduler
  const hosting = orNotConfigured(yield* DeploymentConfig)
  const withStore = Effect.provideService(Store, store)
  const idempotentDeploy = idempotentCommit(store, vault, DeployResult)

  /** Takes the deployment and all its versions out of the store, and leaves a note of what else is to go. */
  const removeDeployment = (name: string, ifMatch: ReadonlyArray<number> | undefined) =>
    retryOnConflict(
      Effect.gen(function* () {
        const deployment = yield* findDeployment(name)
        yield* checkVersion(deployment, ifMatch)
        const partition = partitionOf(deployment.value)
        const entries = yield* listVersions(partition, name)
        const { latest, served } = deployment.value
        const removal: Removal = {
          id: `${name}.${latest}`,
          name: deployment.value.name,
          releases: [
            ...new Set([...entries.map(({ value }) => releaseId(value)), ...(served === undefined ? [] : [served])])
          ],
          sources: entries.flatMap(({ value }) => value.source ?? [])
        }
        const committed = yield* store.commit(partition, [
          removals.insert(removal),
          deployments.remove(deployment),
          ...entries.map(versions.remove)
        ])
        return { value: removal, version: removals.versionIn(committed, removal.id) }
      })
    )

  return Deployments.of({
    list: Effect.fnUntraced(
      function* (project, { limit, offset }) {
        const where = yield* hosting
        const { entries, total } = yield* deployments.page(partitionOf(project), { limit, offset })
        return { data: entries.map(({ value }) => toDeployment(where, value)), limit, offset, total }
      },
      withStore,
      withSafeSpan("Deployments.list")
    ),

    get: Effect.fnUntraced(
      function* (name) {
        const where = yield* hosting
        const { value, version } = yield* findDeployment(name)
        return { value: toDeployment(where, value), version }
      },
      withStore,
      withSafeSpan("Deployments.get")
    ),

    status: Effect.fnUntraced(
      function* (project, statusId) {
        const where = yield* hosting
        const found = Schema.is(StatusId)(statusId)
          ? yield* versions.get(partitionOf(project), statusId)
          : Option.none()
        if (Option.isNone(found)) return yield* new StatusNotFound({ statusId: String(statusId) })
        const { deployment, status, steps, buildResult } = found.value.value
        return {
          value: { status, url: deploymentUrl(where, deployment), steps, buildResult },
          version: found.value.version
        }
      },
      withStore,
      withSafeSpan("Deployments.status")
    ),

    deploy: Effect.fnUntraced(
      function* (name, { idempotency } = {}) {
        yield* hosting
        const { value: project } = yield* findDeployment(name)
        const partition = partitionOf(project)
        const attempt = Effect.gen(function* () {
          const earlier = yield* idempotentDeploy.recall(partition, idempotency)
          if (earlier !== undefined) return earlier
          const deployment = yield* findDeployment(name)
          const version = yield* versions.get(partition, deployment.value.latest)
          if (Option.isNone(version)) return yield* new DeploymentNotFound({ deployment: name })
          const isRunning = version.value.value.status === "IN_PROGRESS"
          const now = yield* DateTime.now
          const answer: DeployResult = { status: isRunning ? "already in progress" : "request enqueued" }
          const changes = [
            versions.replace(version.value, Transitions.restart(version.value.value, now)),
            deployments.replace(deployment, { ...deployment.value, message: "", updatedOn: now })
          ]
          const committed = yield* idempotentDeploy.commit(partition, isRunning ? [] : changes, idempotency, answer)
          if (committed.previousResult === undefined && !isRunning)
            yield* pipeline.nudge(project, version.value.value.id)
          return committed.previousResult ?? answer
        })
        yield* markProjectActive(project)
        return yield* retryOnConflict(attempt)
      },
      withStore,
      withSafeSpan("Deployments.deploy")
    ),

    remove: Effect.fnUntraced(
      function* (name, { ifMatch } = {}) {
        const where = yield* hosting
        const { value: project } = yield* findDeployment(name)
        yield* markProjectActive(project)
        const removal = yield* removeDeployment(name, ifMatch)
        yield* logFailure(`Removing what is left of ${name}`, finishRemoval(where, project, removal))
      },
      withStore,
      withSafeSpan("Deployments.remove")
    ),

    served: Effect.fnUntraced(function* (name) {
      const { value } = yield* findDeployment(name)
      return value.served === undefined ? yield* new DeploymentNotFound({ deployment: name }) : value.served
    }, withStore)
  })
})

export class Deployments extends Context.Service<
  Deployments,
  {
    /** A page of a project's deployments, oldest first. */
    readonly list: (
      project: Project,
      page: PageRequest
    ) => Effect.Effect<Page<Deployment>, StoreError | DeploymentsNotConfigured>
    readonly get: (
      name: string
    ) => Effect.Effect<Entry<Deployment>, StoreError | DeploymentsNotConfigured | DeploymentNotFound>
    /** How the version of an upload fares; none until the upload is complete. */
    readonly status: (
      project: Project,
      statusId: string
    ) => Effect.Effect<Entry<DeploymentStatus>, StoreError | DeploymentsNotConfigured | StatusNotFound>
    /** Runs the last upload once more. What is served stays, until the new release has passed its check. */
    readonly deploy: (
      name: string,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<DeployResult, StoreError | IdempotencyError | DeploymentsNotConfigured | DeploymentNotFound>
    /** Stops serving, and removes the deployment, its status and its source. */
    readonly remove: (
      name: string,
      conditions?: { readonly ifMatch?: ReadonlyArray<number> | undefined }
    ) => Effect.Effect<void, StoreError | DeploymentsNotConfigured | DeploymentNotFound | VersionMismatch>
    /** The release that is served under a name. */
    readonly served: (name: string) => Effect.Effect<string, StoreError | DeploymentNotFound>
  }
>()("@tollgate/core/deployments/Deployments") {
  static readonly layer = Layer.effect(Deployments, make)
}
