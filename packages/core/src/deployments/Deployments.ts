/**
 * The operations on deployments: list, get, status, deploy and remove.
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import { runBestEffort } from "../runtime/runBestEffort.ts"
import { toPage } from "../schema/Page.ts"
import { checkVersion } from "../schema/VersionMismatch.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"
import {
  DeploymentConfig,
  type DeploymentConfigShape,
  deploymentUrl,
  requireConfig
} from "./config/DeploymentConfig.ts"
import { recordDeploymentEvent } from "./config/recordDeploymentEvent.ts"
import { toDeployment } from "./config/toDeployment.ts"
import { DeploymentsApi, type DeploymentsMethods } from "./DeploymentsApi.ts"
import type { DeployResult } from "./model/Deployment.ts"
import { DeploymentNotFound, type DeploymentsNotConfigured, StatusNotFound } from "./model/DeploymentError.ts"
import { StatusId } from "./model/DeploymentStatus.ts"
import type { DeploymentVersion } from "./model/DeploymentVersion.ts"
import {
  type DeploymentRecord,
  deployments,
  markProjectActive,
  type Project,
  projectPartition,
  type Removal,
  releaseId,
  removals,
  splitArtifactId,
  type Version,
  versions
} from "./model/deploymentRecords.ts"
import { findDeployment } from "./model/findDeployment.ts"
import { readAllVersions, readNewestVersions } from "./model/readVersions.ts"
import * as Transitions from "./model/versionTransitions.ts"
import { DeploymentScheduler } from "./runner/DeploymentScheduler.ts"
import { finishRemoval } from "./runner/finishRemoval.ts"

const toDeploymentVersion = ({ served }: DeploymentRecord, version: Version): DeploymentVersion => {
  const { id, createdOn, status, buildResult, sourceBytes } = version
  return {
    id,
    createdOn,
    status,
    digest: buildResult.digest,
    bytes: sourceBytes,
    // A release of any attempt: while the version is deployed again, its previous release is served.
    isServed: served !== undefined && splitArtifactId(served)[1] === id
  }
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const scheduler = yield* DeploymentScheduler
  const getConfig = requireConfig(yield* DeploymentConfig)
  const withStore = Effect.provideService(Store, store)

  /** Removes the deployment and its versions from the store, and records the sources and releases still to remove. */
  const removeDeployment = (config: DeploymentConfigShape, name: string, ifMatch: ReadonlyArray<number> | undefined) =>
    retryOnConflict(
      Effect.gen(function* () {
        const deployment = yield* findDeployment(name)
        yield* checkVersion(deployment, ifMatch)
        const partition = projectPartition(deployment.value)
        const entries = yield* readAllVersions(partition, name)
        const { latest, served } = deployment.value
        const removal: Removal = {
          id: `${name}.${latest}`,
          name: deployment.value.name,
          releases: [
            ...new Set([...entries.map(({ value }) => releaseId(value)), ...(served === undefined ? [] : [served])])
          ],
          sources: entries.flatMap(({ value }) => value.source ?? [])
        }
        const commitResult = yield* store.commit(partition, [
          removals.insert(removal),
          deployments.remove(deployment),
          ...entries.map(versions.remove),
          yield* recordDeploymentEvent("deployment.deleted", config, deployment.value)
        ])
        return { value: removal, version: removals.getVersion(commitResult, removal.id) }
      })
    )

  const operations = implementOperations(DeploymentsApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: project, query }) {
      const config = yield* getConfig
      const { entries, ...page } = yield* deployments.page(projectPartition(project), query)
      return toPage(
        query,
        page,
        entries.map(({ value }) => toDeployment(config, value))
      )
    }),

    get: Effect.fnUntraced(function* ({ params: { deploymentName } }) {
      const config = yield* getConfig
      const { value, version } = yield* findDeployment(deploymentName)
      return { value: toDeployment(config, value), version }
    }),

    versions: Effect.fnUntraced(function* ({ params: { deploymentName: name }, query }) {
      yield* getConfig
      const { value: deployment } = yield* findDeployment(name)
      const { entries, ...page } = yield* readNewestVersions(projectPartition(deployment), name, query)
      return toPage(
        query,
        page,
        entries.map(({ value }) => toDeploymentVersion(deployment, value))
      )
    }),

    status: Effect.fnUntraced(function* ({ params: { statusId, ...project } }) {
      const config = yield* getConfig
      const entry = Schema.is(StatusId)(statusId)
        ? yield* versions.get(projectPartition(project), statusId)
        : Option.none()
      if (Option.isNone(entry)) return yield* new StatusNotFound({ statusId: String(statusId) })
      const { deployment, status, steps, buildResult } = entry.value.value
      return {
        value: { status, url: deploymentUrl(config, deployment), steps, buildResult },
        version: entry.value.version
      }
    }),

    deploy: Effect.fnUntraced(function* ({ params: { deploymentName: name } }, once) {
      yield* getConfig
      const { value: deployment } = yield* findDeployment(name)
      const partition = projectPartition(deployment)
      const commitOnce = once(partition)
      const attempt = Effect.gen(function* () {
        const current = yield* findDeployment(name)
        const version = yield* versions.get(partition, current.value.latest)
        if (Option.isNone(version)) return yield* new DeploymentNotFound({ deployment: name })
        const isRunning = version.value.value.status === "IN_PROGRESS"
        const now = yield* DateTime.now
        const result: DeployResult = { status: isRunning ? "already in progress" : "request enqueued" }
        const changes = [
          versions.replace(version.value, Transitions.restart(version.value.value, now)),
          deployments.replace(current, { ...current.value, message: "", updatedOn: now })
        ]
        yield* commitOnce(isRunning ? [] : changes, result)
        if (!isRunning) yield* scheduler.schedule(deployment, version.value.value.id)
        return result
      })
      yield* markProjectActive(deployment)
      return yield* retryOnConflict(attempt)
    }),

    remove: Effect.fnUntraced(function* ({ params: { deploymentName: name }, headers: { ifMatch } = {} }) {
      const config = yield* getConfig
      const { value: deployment } = yield* findDeployment(name)
      yield* markProjectActive(deployment)
      const removal = yield* removeDeployment(config, name, ifMatch)
      yield* runBestEffort(`Removing the files of ${name}`, finishRemoval(config, deployment, removal))
    })
  })

  return Deployments.of({
    ...operations,
    getProject: Effect.fnUntraced(function* (name) {
      yield* getConfig
      const { accountName, projectName } = (yield* findDeployment(name)).value
      return { accountName, projectName }
    }, withStore),
    getServedRelease: Effect.fnUntraced(function* (name) {
      const { value } = yield* findDeployment(name)
      return value.served === undefined ? yield* new DeploymentNotFound({ deployment: name }) : value.served
    }, withStore)
  })
})

type DeploymentOperations = Omit<Operations<typeof DeploymentsApi, DeploymentsMethods>, "createSource">

/**
 * The operations on deployments: `list`, `get`, `status`, `versions`, `deploy` and `remove`. Each takes one
 * `OperationRequest`.
 */
export class Deployments extends Context.Service<
  Deployments,
  DeploymentOperations & {
    /** Gets the account and the project of a deployment. */
    readonly getProject: (
      name: string
    ) => Effect.Effect<Project, StoreError | DeploymentNotFound | DeploymentsNotConfigured>
    /** Gets the id of the release that a deployment serves. */
    readonly getServedRelease: (name: string) => Effect.Effect<string, StoreError | DeploymentNotFound>
  }
>()("@tollgate/core/deployments/Deployments") {
  static readonly layer = Layer.effect(Deployments, make)
}
