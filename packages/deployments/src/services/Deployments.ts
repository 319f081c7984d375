/**
 * The operations on deployments: list, get, status, log, versions, deploy, rollback, promote and remove.
 */
import {
  type CommitOnce,
  checkVersion,
  DueWork,
  type Entry,
  implementOperations,
  type Operations,
  type Partition,
  retryOnConflict,
  runBestEffort,
  SecretBox,
  Store,
  type StoreError,
  toPage
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { DeploymentConfig, type DeploymentConfigShape, deploymentUrl } from "../config/DeploymentConfig.ts"
import { recordDeploymentEvent } from "../config/recordDeploymentEvent.ts"
import { toDeployment } from "../config/toDeployment.ts"
import type { Deployment, DeployResult } from "../model/Deployment.ts"
import { DeploymentNotFound, StatusNotFound } from "../model/DeploymentError.ts"
import { toDeploymentLog } from "../model/DeploymentLog.ts"
import { StatusId } from "../model/DeploymentStatus.ts"
import type { DeploymentVersion } from "../model/DeploymentVersion.ts"
import {
  type DeploymentRecord,
  deployments,
  ensureProjectWork,
  type Project,
  projectPartition,
  type Removal,
  releaseId,
  removals,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { findDeployment } from "../model/findDeployment.ts"
import { readAllVersions, readKeptVersions, readNewestVersions } from "../model/readVersions.ts"
import { isServed } from "../model/servedVersion.ts"
import { findReleaseOfAddress, isVersionAddress } from "../model/versionAddresses.ts"
import * as Transitions from "../model/versionTransitions.ts"
import { DeploymentScheduler } from "../runner/DeploymentScheduler.ts"
import { finishRemoval } from "../runner/finishRemoval.ts"
import { DeploymentsApi, type DeploymentsMethods } from "./DeploymentsApi.ts"
import { type ServeRequest, serveVersion } from "./serveVersion.ts"

const toDeploymentVersion = (
  config: DeploymentConfigShape,
  deployment: DeploymentRecord,
  version: Version,
  kept: ReadonlyArray<Entry<Version>>
): DeploymentVersion => {
  const { id, createdOn, status, buildResult, sourceBytes, release } = version
  const isVersionServed = isServed(deployment, id)
  const isKept = isVersionServed || kept.some(({ value }) => value.id === id)
  return {
    id,
    createdOn,
    status,
    digest: buildResult.digest,
    bytes: sourceBytes,
    isServed: isVersionServed,
    ...(isKept && release !== undefined ? { isKept, url: deploymentUrl(config, release.address) } : {})
  }
}

/** Finds a version by the id of its status. */
const findVersion = Effect.fnUntraced(function* (project: Project, statusId: string) {
  const entry = Schema.is(StatusId)(statusId) ? yield* versions.get(projectPartition(project), statusId) : Option.none()
  return Option.isNone(entry) ? yield* new StatusNotFound({ statusId: String(statusId) }) : entry.value
})

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const scheduler = yield* DeploymentScheduler
  const dueWork = yield* DueWork
  const config = yield* DeploymentConfig
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
            ...new Set([
              ...entries.flatMap(({ value }) => [releaseId(value), ...(value.release ? [value.release.id] : [])]),
              ...(served === undefined ? [] : [served])
            ])
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

  /** Serves a kept version, and then removes what is not kept any more. */
  const serve = Effect.fnUntraced(function* (
    request: ServeRequest,
    once: (partition: Partition.Partition) => CommitOnce<Deployment>
  ) {
    const { value: deployment } = yield* findDeployment(request.name)
    const partition = projectPartition(deployment)
    yield* ensureProjectWork(dueWork, deployment)
    const result = yield* serveVersion(config, request, once(partition))
    yield* scheduler.prune(deployment, request.name)
    return result
  })

  const operations = implementOperations(DeploymentsApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: project, query }) {
      const { entries, ...page } = yield* deployments.page(projectPartition(project), query)
      return toPage(
        query,
        page,
        entries.map(({ value }) => toDeployment(config, value))
      )
    }),

    get: Effect.fnUntraced(function* ({ params: { deploymentName } }) {
      const { value, version } = yield* findDeployment(deploymentName)
      return { value: toDeployment(config, value), version }
    }),

    versions: Effect.fnUntraced(function* ({ params: { deploymentName: name }, query }) {
      const { value: deployment } = yield* findDeployment(name)
      const partition = projectPartition(deployment)
      const { entries, ...page } = yield* readNewestVersions(partition, name, query)
      const kept = yield* readKeptVersions(partition, name)
      return toPage(
        query,
        page,
        entries.map(({ value }) => toDeploymentVersion(config, deployment, value, kept))
      )
    }),

    status: Effect.fnUntraced(function* ({ params: { statusId, ...project } }) {
      const { value, version } = yield* findVersion(project, statusId)
      const { deployment, status, steps, buildResult, release } = value
      const isOwnUrl = Transitions.isWaiting(value) && release !== undefined
      const url = deploymentUrl(config, isOwnUrl ? release.address : deployment)
      return { value: { status, url, steps, buildResult }, version }
    }),

    log: Effect.fnUntraced(function* ({ params: { statusId, ...project }, headers: { after } = {} }) {
      return toDeploymentLog((yield* findVersion(project, statusId)).value, after)
    }),

    deploy: Effect.fnUntraced(function* ({ params: { deploymentName: name } }, once) {
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
      yield* ensureProjectWork(dueWork, deployment)
      return yield* retryOnConflict(attempt)
    }),

    rollback: Effect.fnUntraced(function* ({ params: { deploymentName: name }, payload: { version } }, once) {
      return yield* serve({ name, version, as: "rollback" }, once)
    }),

    promote: Effect.fnUntraced(function* ({ params: { deploymentName: name }, payload: { version } }, once) {
      return yield* serve({ name, version, as: "promotion" }, once)
    }),

    remove: Effect.fnUntraced(function* ({ params: { deploymentName: name }, headers: { ifMatch } = {} }) {
      const { value: deployment } = yield* findDeployment(name)
      yield* ensureProjectWork(dueWork, deployment)
      const removal = yield* removeDeployment(config, name, ifMatch)
      yield* runBestEffort(`Removing the files of ${name}`, finishRemoval(config, deployment, removal))
    })
  })

  return Deployments.of({
    ...operations,
    getProject: Effect.fnUntraced(function* (name) {
      const { accountName, projectName } = (yield* findDeployment(name)).value
      return { accountName, projectName }
    }, withStore),
    getServedRelease: Effect.fnUntraced(function* (name) {
      if (isVersionAddress(name)) {
        const release = Option.getOrUndefined(yield* findReleaseOfAddress(name))
        return release ?? (yield* new DeploymentNotFound({ deployment: name }))
      }
      const { value } = yield* findDeployment(name)
      return value.served === undefined ? yield* new DeploymentNotFound({ deployment: name }) : value.served
    }, withStore)
  })
})

type DeploymentOperations = Omit<Operations<typeof DeploymentsApi, DeploymentsMethods>, "createSource">

/**
 * The operations on deployments: `list`, `get`, `status`, `log`, `versions`, `deploy`, `rollback`, `promote` and `remove`. Each
 * takes one `OperationRequest`.
 */
export class Deployments extends Context.Service<
  Deployments,
  DeploymentOperations & {
    /** Gets the account and the project of a deployment. */
    readonly getProject: (name: string) => Effect.Effect<Project, StoreError | DeploymentNotFound>
    /** Gets the id of the release that a deployment, or the address of a version, serves. */
    readonly getServedRelease: (name: string) => Effect.Effect<string, StoreError | DeploymentNotFound>
  }
>()("@tollgate/deployments/services/Deployments") {
  static readonly layer = Layer.effect(Deployments, make)
}
