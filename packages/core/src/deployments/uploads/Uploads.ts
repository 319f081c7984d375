/**
 * Takes sources: gives out an address that is signed and for one upload, and turns a finished upload into a version
 * that is to be deployed.
 */
import { Context, DateTime, Effect, Layer, Option, Schema, Stream } from "effect"
import { SecretBox } from "../../crypto/SecretBox.ts"
import { SecureRandom } from "../../crypto/SecureRandom.ts"
import { LimitReached, Limits } from "../../runtime/Limits.ts"
import { logFailure } from "../../runtime/logFailure.ts"
import { withSafeSpan } from "../../runtime/withSafeSpan.ts"
import type { InvalidInput } from "../../schema/InvalidInput.ts"
import { type Idempotency, type IdempotencyError, idempotentCommit } from "../../store/Idempotency.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { isOutcomeUnknown, StoreConflict, type StoreError } from "../../store/StoreError.ts"
import type { Branch } from "../model/Deployment.ts"
import {
  AlreadyUploaded,
  type DeploymentsNotConfigured,
  type SourceStoreError,
  SourceTooLarge,
  UploadForbidden,
  type UploadInProgress,
  type UploadInterrupted,
  type UploadStalled
} from "../model/DeploymentError.ts"
import { StatusId } from "../model/DeploymentStatus.ts"
import {
  artifactId,
  deployments,
  markProjectActive,
  partitionOf,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { deleteExpiredUploads, openUploadsOf, Upload, uploads } from "../model/uploadRecords.ts"
import * as Transitions from "../model/versionTransitions.ts"
import { DeploymentConfig, orNotConfigured } from "../ports/DeploymentConfig.ts"
import { DeploymentScheduler } from "../runner/DeploymentScheduler.ts"
import { pruneVersions } from "../runner/runVersion.ts"
import { invalidDigest, meterUpload, parseContentDigest } from "./meterUpload.ts"
import { makeUploadLeases, type UploadLease } from "./uploadLease.ts"

/** How long an address is good. */
const urlTtl = { hours: 1 }

const directory = Partition.deploymentDirectory

/** A version-4 UUID. */
const nextId = Effect.map(SecureRandom, ({ bytes }) => {
  const random = Buffer.from(bytes(16))
  random.writeUInt8((random.readUInt8(6) & 0x0f) | 0x40, 6)
  random.writeUInt8((random.readUInt8(8) & 0x3f) | 0x80, 8)
  return StatusId.make(random.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"))
})

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* SecretBox
  const pipeline = yield* DeploymentScheduler
  const limits = yield* Limits
  const leases = yield* makeUploadLeases
  const hosting = orNotConfigured(yield* DeploymentConfig)
  const withStore = Effect.provideService(Store, store)
  const idempotentUpload = idempotentCommit(store, vault, Upload)

  const signedText = (id: string, expires: string): string => `upload ${id} ${expires}`

  const signUploadUrl = (publicUrl: string, { id, expiresOn }: Upload): string => {
    const expires = String(DateTime.toEpochMillis(expiresOn))
    const signature = vault.sign(signedText(id, expires))
    return `${publicUrl}/v1/uploads/${id}.tar.gz?expires=${expires}&signature=${signature}`
  }

  /** The upload that an address was given out for. */
  const verifyUploadUrl = Effect.fnUntraced(function* ({ id, expires, signature }: SignedUploadUrl) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const isGood = Schema.is(StatusId)(id) && vault.verifySignature(signedText(id, expires), signature)
    const upload = isGood && Number(expires) > now ? yield* uploads.get(directory, id) : Option.none()
    return Option.isNone(upload) ? yield* new UploadForbidden() : upload.value.value
  })

  /** Makes the version of a source that is kept, and the deployment if it is the first: all of it, or none. */
  const acceptUpload = (
    { upload, name }: UploadLease,
    source: string,
    { bytes, digest }: UploadResult,
    startedOn: DateTime.Utc
  ) =>
    retryOnConflict(
      Effect.gen(function* () {
        const { id, accountName, projectName, branchName } = upload
        const partition = partitionOf(upload)
        // In this order: whoever uses the address after the deployment was read has changed it, and makes this one stale.
        const known = yield* deployments.get(partition, name)
        if (Option.isSome(yield* versions.get(partition, id))) return yield* new AlreadyUploaded()
        const now = yield* DateTime.now
        const version: Version = {
          id,
          deployment: name,
          createdOn: now,
          source,
          attempt: 0,
          ...Transitions.accept({ digest, bytes, startedOn, now })
        }
        if (Option.isNone(known)) {
          const branch = { accountName, projectName, branchName }
          yield* store.commit(partition, [
            versions.insert(version),
            deployments.insert({ ...branch, name, createdOn: now, updatedOn: now, message: "", latest: id })
          ])
          return
        }
        const previous = yield* versions.get(partition, known.value.value.latest)
        const isRunning = Option.isSome(previous) && previous.value.value.status === "IN_PROGRESS"
        yield* store.commit(partition, [
          versions.insert(version),
          deployments.replace(known.value, { ...known.value.value, updatedOn: now, message: "", latest: id }),
          ...(isRunning ? [versions.replace(previous.value, Transitions.supersede(previous.value.value, now))] : [])
        ])
      })
    )

  /** Keeps the address, and the record of its upload, within the account's limit. */
  const recordUpload = Effect.fnUntraced(function* (upload: Upload, idempotency: Idempotency | undefined) {
    const open = openUploadsOf(upload.accountName)
    const max = limits.openUploadsPerAccount
    const changes = [uploads.insert(upload), uploads.assertAtMost(open, max - 1)]
    const isFull = (error: unknown) => error instanceof StoreConflict && error.subject === uploads.indexTerm(open)
    const attempt = idempotentUpload.commit(directory, changes, idempotency, upload)
    return yield* attempt.pipe(
      Effect.catchIf(isFull, (error) =>
        Effect.flatMap(deleteExpiredUploads(open), (isFreed) => (isFreed ? attempt : Effect.fail(error)))
      ),
      Effect.catchIf(isFull, () => Effect.fail(new LimitReached({ limit: "openUploadsPerAccount", max })))
    )
  })

  return Uploads.of({
    create: Effect.fnUntraced(
      function* (branch, { idempotency } = {}) {
        const { publicUrl } = yield* hosting
        const earlier = yield* idempotentUpload.recall(directory, idempotency)
        if (earlier !== undefined) return { uploadUrl: signUploadUrl(publicUrl, earlier) }
        const expiresOn = DateTime.add(yield* DateTime.now, urlTtl)
        const { accountName, projectName, branchName } = branch
        const upload: Upload = { accountName, projectName, branchName, id: yield* nextId, expiresOn, used: false }
        const committed = yield* recordUpload(upload, idempotency)
        return { uploadUrl: signUploadUrl(publicUrl, committed.previousResult ?? upload) }
      },
      withStore,
      withSafeSpan("Uploads.create")
    ),

    receive: Effect.fnUntraced(
      function* (address, content, { contentLength, contentDigest, isHandedOver = false } = {}) {
        const where = yield* hosting
        const { sources, sourceLimit } = where
        const upload = yield* verifyUploadUrl(address)
        if (contentLength !== undefined && contentLength > sourceLimit) {
          return yield* new SourceTooLarge({ limit: sourceLimit })
        }
        if (contentDigest !== undefined && parseContentDigest(contentDigest).length === 0) {
          return yield* invalidDigest("give sha-256=:…: or sha-512=:…:, in base64")
        }
        const startedOn = yield* DateTime.now
        const nonce = Buffer.from((yield* SecureRandom).bytes(8)).toString("hex")
        const pieces = isHandedOver ? content : Stream.map(content, (piece) => new Uint8Array(piece))
        const { stream, watch, received } = meterUpload(pieces, sourceLimit, contentDigest)
        const name = yield* leases.withLease(upload, (lease) =>
          Effect.gen(function* () {
            const key = artifactId({ id: upload.id, deployment: lease.name }, nonce)
            yield* leases.renewing(lease, Effect.raceFirst(sources.put(key, stream), watch))
            const finish = Effect.gen(function* () {
              yield* markProjectActive(upload)
              yield* leases.renew(lease)
              yield* acceptUpload(lease, key, received(), startedOn)
            })
            // What has arrived whole is made a version, or nothing, even if the sender leaves now.
            yield* finish.pipe(
              Effect.tapError((error) => (isOutcomeUnknown(error) ? Effect.void : Effect.ignore(sources.remove(key)))),
              Effect.andThen(leases.finish(lease)),
              Effect.andThen(pipeline.nudge(upload, upload.id)),
              Effect.uninterruptible
            )
            return lease.name
          })
        )
        yield* logFailure("Forgetting old versions", pruneVersions(where, partitionOf(upload), name))
        return { id: upload.id, ...received() }
      },
      withStore,
      withSafeSpan("Uploads.receive")
    )
  })
})

/** What has arrived. */
export interface UploadResult {
  readonly bytes: number
  readonly digest: string
}

/** What an upload's address says. */
export interface SignedUploadUrl {
  readonly id: string
  readonly expires: string
  readonly signature: string
}

export class Uploads extends Context.Service<
  Uploads,
  {
    /** Gives out an address for one upload of a branch's source. */
    readonly create: (
      branch: Branch,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<
      { readonly uploadUrl: string },
      StoreError | IdempotencyError | DeploymentsNotConfigured | LimitReached
    >
    /** Keeps a source, whole or not at all, and starts its deployment. */
    readonly receive: <E>(
      address: SignedUploadUrl,
      content: Stream.Stream<Uint8Array, E>,
      options?: {
        readonly contentLength?: number | undefined
        readonly contentDigest?: string | undefined
        /** Nobody else uses the memory of the pieces; otherwise they are copied. */
        readonly isHandedOver?: boolean
      }
    ) => Effect.Effect<
      UploadResult & { readonly id: StatusId },
      | E
      | StoreError
      | InvalidInput
      | DeploymentsNotConfigured
      | LimitReached
      | UploadForbidden
      | AlreadyUploaded
      | UploadInProgress
      | SourceTooLarge
      | UploadInterrupted
      | UploadStalled
      | SourceStoreError
    >
  }
>()("@tollgate/core/deployments/uploads/Uploads") {
  static readonly layer = Layer.effect(Uploads, make)
}
