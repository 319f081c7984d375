/**
 * Receives sources: issues signed single-use upload URLs, and turns a completed upload into a version to deploy.
 */
import {
  BoundedMap,
  type CommitOnce,
  CurrentActor,
  DueWork,
  InsufficientStorage,
  type InvalidInput,
  implementOperations,
  isOutcomeUnknown,
  type LimitReached,
  Limits,
  makeResultCodec,
  type Operations,
  type PayloadTooLarge,
  Processes,
  type RequestTimeout,
  retryOnConflict,
  SecretBox,
  SecureRandom,
  Store,
  StoreConflict,
  type StoreError,
  withSafeSpan
} from "@tollgate/core/module"
import { Clock, Context, DateTime, Effect, Layer, Option, Schema, Stream } from "effect"
import { DeploymentConfig, type DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import { recordDeploymentEvent } from "../config/recordDeploymentEvent.ts"
import { addHeldBytes, bytesLimitReached, countHeldBytes, recountHeldBytes } from "../model/countHeldBytes.ts"
import type { DeploymentName } from "../model/Deployment.ts"
import {
  AlreadyUploaded,
  type SourceStoreError,
  UploadForbidden,
  type UploadInProgress
} from "../model/DeploymentError.ts"
import { StatusId } from "../model/DeploymentStatus.ts"
import { deploymentBytes } from "../model/deploymentBytes.ts"
import { limitReached } from "../model/deploymentLimits.ts"
import {
  artifactId,
  deployments,
  ensureProjectWork,
  projectPartition,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { deploymentDirectory } from "../model/partitions.ts"
import {
  deleteExpiredUploadUrls,
  openUploadsByAccount,
  UploadUrl,
  uploadsJob,
  uploadUrls
} from "../model/uploadRecords.ts"
import * as Transitions from "../model/versionTransitions.ts"
import { DeploymentScheduler } from "../runner/DeploymentScheduler.ts"
import { DeploymentsApi, type DeploymentsMethods } from "../services/DeploymentsApi.ts"
import { guardUpload, parseContentDigest } from "./guardUpload.ts"
import { invalidDigest, sourceTooLarge } from "./uploadErrors.ts"
import { makeUploadLeases } from "./uploadLease.ts"

/** In milliseconds. */
const minRecountInterval = 60 * 1000

/** How long an upload URL is valid. */
const urlTtl = { hours: 1 }

const directory = deploymentDirectory

/** Makes a version 4 UUID from the injected random source. */
const makeStatusId = Effect.map(SecureRandom, ({ bytes }) => {
  const random = Buffer.from(bytes(16))
  random.writeUInt8((random.readUInt8(6) & 0x0f) | 0x40, 6)
  random.writeUInt8((random.readUInt8(8) & 0x3f) | 0x80, 8)
  return StatusId.make(random.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"))
})

/** The URL is signed again for a retry. */
const uploadCodec = makeResultCodec(UploadUrl)

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const scheduler = yield* DeploymentScheduler
  const dueWork = yield* DueWork
  const limits = yield* Limits
  const maxBytes = limits.deploymentBytesPerAccount
  const leases = yield* makeUploadLeases
  const config = yield* DeploymentConfig
  const withServices = Effect.provideContext(Context.make(Store, store).pipe(Context.add(Processes, yield* Processes)))

  const toStringToSign = (id: string, expires: string): string => `upload ${id} ${expires}`

  const signUploadUrl = (publicUrl: string, { id, expiresOn }: UploadUrl): string => {
    const expires = String(DateTime.toEpochMillis(expiresOn))
    const signature = secretBox.sign(toStringToSign(id, expires))
    return `${publicUrl}/v1/uploads/${id}.tar.gz?expires=${expires}&signature=${signature}`
  }

  /** Finds the upload that a URL was issued for. */
  const verifyUploadUrl = Effect.fnUntraced(function* ({ id, expires, signature }: SignedUploadUrl) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const isAuthentic = Schema.is(StatusId)(id) && secretBox.verifySignature(toStringToSign(id, expires), signature)
    const upload = isAuthentic && Number(expires) > now ? yield* uploadUrls.get(directory, id) : Option.none()
    return Option.isNone(upload) ? yield* new UploadForbidden() : upload.value.value
  })

  /** Creates the version of a stored source, and the deployment if it is the first, atomically. */
  const acceptUpload = (
    config: DeploymentConfigShape,
    upload: UploadUrl,
    name: DeploymentName,
    source: string,
    { bytes, digest }: ReceivedSource,
    startedOn: DateTime.Utc
  ) =>
    retryOnConflict(
      Effect.gen(function* () {
        const { id, accountName, projectName, branchName } = upload
        const partition = projectPartition(upload)
        // The deployment is read before the version. A concurrent request that uses the same URL changes the
        // deployment, so this commit conflicts and is retried.
        const existing = yield* deployments.get(partition, name)
        if (Option.isSome(yield* versions.get(partition, id))) return yield* new AlreadyUploaded()
        const now = yield* DateTime.now
        const version: Version = {
          id,
          deployment: name,
          createdOn: now,
          source,
          sourceBytes: bytes,
          attempt: 0,
          ...Transitions.accept({ digest, bytes, startedOn, now })
        }
        if (Option.isNone(existing)) {
          const branch = { accountName, projectName, branchName }
          const deployment = { ...branch, name, createdOn: now, updatedOn: now, message: "" as const, latest: id }
          const actor = upload.actor ?? (yield* CurrentActor)
          yield* store.commit(partition, [
            versions.insert(version),
            deployments.insert(deployment),
            yield* recordDeploymentEvent("deployment.created", config, deployment).pipe(
              Effect.provideService(CurrentActor, actor)
            )
          ])
          return
        }
        const previous = yield* versions.get(partition, existing.value.value.latest)
        const isRunning = Option.isSome(previous) && previous.value.value.status === "IN_PROGRESS"
        yield* store.commit(partition, [
          versions.insert(version),
          deployments.replace(existing.value, { ...existing.value.value, updatedOn: now, message: "", latest: id }),
          ...(isRunning ? [versions.replace(previous.value, Transitions.supersede(previous.value.value, now))] : [])
        ])
      })
    )

  /** Stores the upload within the account's limit. Deletes expired uploads first if the limit is reached. */
  const recordUpload = Effect.fnUntraced(function* (upload: UploadUrl, commitOnce: CommitOnce<UploadUrl>) {
    const open = openUploadsByAccount(upload.accountName)
    const max = limits.openUploadsPerAccount
    const changes = [uploadUrls.insert(upload), uploadUrls.assertAtMost(open, max - 1)]
    const isFull = (error: unknown) => error instanceof StoreConflict && error.subject === uploadUrls.indexTerm(open)
    const attempt = commitOnce(changes, upload)
    return yield* attempt.pipe(
      Effect.catchIf(isFull, () => Effect.andThen(deleteExpiredUploadUrls(open), attempt)),
      Effect.catchIf(isFull, () => Effect.fail(limitReached("openUploadsPerAccount", max)))
    )
  })

  /** When this process counted the bytes of an account again, in milliseconds. */
  const recountedAt = new BoundedMap<string, number>(10_000)

  /**
   * Checks that a source fits into the account. Before it refuses one, it counts the account again, at most once a minute:
   * a process that died may have left a number that is too high.
   */
  const checkRoom = (accountName: string, bytes: number) =>
    Effect.gen(function* () {
      const { partition, counter } = deploymentBytes(accountName)
      const isFull = Effect.map(store.counters(partition, [counter]), ([held = 0]) => held + bytes > maxBytes)
      if (!(yield* isFull)) return
      const now = yield* Clock.currentTimeMillis
      if (now - (recountedAt.get(accountName) ?? Number.NEGATIVE_INFINITY) >= minRecountInterval) {
        recountedAt.set(accountName, now)
        yield* recountHeldBytes(accountName)
        if (!(yield* isFull)) return
      }
      return yield* bytesLimitReached(maxBytes)
    })

  return Uploads.of({
    readBytes: Effect.fnUntraced(function* (accountName) {
      const { partition, counter } = deploymentBytes(accountName)
      const [used = 0] = yield* store.counters(partition, [counter])
      return { used, max: maxBytes }
    }),
    ...implementOperations(DeploymentsApi, { store, secretBox })({
      createSource: Effect.fnUntraced(function* ({ payload: branch }, once) {
        const { publicUrl } = config
        const toResult = (upload: UploadUrl) => ({ uploadUrl: signUploadUrl(publicUrl, upload) })
        const commitOnce = once(directory, toResult, uploadCodec)
        const expiresOn = DateTime.add(yield* DateTime.now, urlTtl)
        const { accountName, projectName, branchName } = branch
        const upload: UploadUrl = {
          accountName,
          projectName,
          branchName,
          id: yield* makeStatusId,
          expiresOn,
          used: false,
          actor: yield* CurrentActor
        }
        yield* dueWork.ensure(uploadsJob, directory, Effect.succeed(""), expiresOn)
        yield* recordUpload(upload, commitOnce)
        return toResult(upload)
      })
    }),

    receive: Effect.fnUntraced(
      function* (url, content, { contentLength, contentDigest, transferOwnership = false } = {}) {
        const { sources, sourceLimit } = config
        const upload = yield* verifyUploadUrl(url)
        if (sources.isDiskLow?.() === true) return yield* new InsufficientStorage()
        if (contentLength !== undefined && contentLength > sourceLimit) {
          return yield* sourceTooLarge(sourceLimit)
        }
        if (contentDigest !== undefined && parseContentDigest(contentDigest).length === 0) {
          return yield* invalidDigest("must contain sha-256=:…: or sha-512=:…: with a base64 digest")
        }
        yield* checkRoom(upload.accountName, contentLength ?? 1)
        const startedOn = yield* DateTime.now
        // Part of the source's key, since the source store accepts each key once and a failed upload may be repeated.
        const nonce = Buffer.from((yield* SecureRandom).bytes(8)).toString("hex")
        const chunks = transferOwnership ? content : Stream.map(content, (chunk) => new Uint8Array(chunk))
        const { stream, failWhenStalled, getResult } = guardUpload(chunks, sourceLimit, contentDigest)
        const name = yield* leases.withLease(upload, (lease) =>
          Effect.gen(function* () {
            const key = artifactId({ id: upload.id, deployment: lease.name }, nonce)
            yield* leases.whileHeld(lease, Effect.raceFirst(sources.put(key, stream), failWhenStalled))
            const createVersion = Effect.gen(function* () {
              yield* ensureProjectWork(dueWork, upload)
              yield* leases.check(lease)
              yield* addHeldBytes(upload.accountName, lease.name, { added: getResult().bytes, max: maxBytes })
              yield* acceptUpload(config, upload, lease.name, key, getResult(), startedOn)
            })
            // Uninterruptible: the source is stored, so a client that disconnects must not interrupt the commits below.
            yield* createVersion.pipe(
              Effect.tapError((error) =>
                isOutcomeUnknown(error)
                  ? Effect.void
                  : Effect.ignore(Effect.andThen(sources.remove(key), countHeldBytes(lease.name)))
              ),
              Effect.andThen(leases.finish(lease)),
              Effect.andThen(scheduler.schedule(upload, upload.id)),
              Effect.uninterruptible
            )
            return lease.name
          })
        )
        yield* scheduler.prune(upload, name)
        return { id: upload.id, ...getResult() }
      },
      withServices,
      withSafeSpan("tollgate.uploads.receive")
    )
  })
})

export interface ReceivedSource {
  readonly bytes: number
  /** The SHA-256 of the source, in hexadecimal. */
  readonly digest: string
}

/** The id and the query parameters of an upload URL. */
export interface SignedUploadUrl {
  readonly id: string
  readonly expires: string
  readonly signature: string
}

/**
 * Uploads of sources: the operation `createSource` takes one `OperationRequest` and returns an upload URL, and
 * `receive` stores what is sent to that URL.
 */
export class Uploads extends Context.Service<
  Uploads,
  Pick<Operations<typeof DeploymentsApi, DeploymentsMethods>, "createSource"> & {
    /** How many bytes of sources and releases an account has, and may have. */
    readonly readBytes: (
      accountName: string
    ) => Effect.Effect<{ readonly used: number; readonly max: number }, StoreError>
    /** Stores a source atomically and starts its deployment. */
    readonly receive: <E>(
      url: SignedUploadUrl,
      content: Stream.Stream<Uint8Array, E>,
      options?: {
        readonly contentLength?: number | undefined
        readonly contentDigest?: string | undefined
        /** Whether the chunks' buffers belong to the upload. Otherwise the upload copies each chunk. */
        readonly transferOwnership?: boolean
      }
    ) => Effect.Effect<
      ReceivedSource & { readonly id: StatusId },
      | E
      | StoreError
      | InvalidInput
      | LimitReached
      | InsufficientStorage
      | UploadForbidden
      | AlreadyUploaded
      | UploadInProgress
      | PayloadTooLarge
      | RequestTimeout
      | SourceStoreError
    >
  }
>()("@tollgate/deployments/uploads/Uploads") {
  static readonly layer = Layer.effect(Uploads, make)
}
