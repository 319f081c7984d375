/**
 * The promise API of deployments.
 */
import { Effect, Schema } from "effect"
import type { Deployments, DeployResult } from "../deployments/Deployments.ts"
import { Branch, Deployment } from "../deployments/model/Deployment.ts"
import { UploadForbidden } from "../deployments/model/DeploymentError.ts"
import { DeploymentStatus } from "../deployments/model/DeploymentStatus.ts"
import { type SourceContent, toSourceStream } from "../deployments/uploads/sourceStream.ts"
import type { SignedUploadUrl, Uploads } from "../deployments/uploads/Uploads.ts"
import { AccountName, ProjectName } from "../schema/Names.ts"
import { firstPage, Page, PageQuery } from "../schema/Page.ts"
import type { PageJson } from "./consumersPromise.ts"
import * as Promises from "./Promises.ts"

export type DeploymentJson = typeof Deployment.Encoded
export type DeploymentStatusJson = typeof DeploymentStatus.Encoded

type IdempotencyOption = { readonly idempotencyKey?: string }

const decodeProject = Promises.makeParameterDecoder(
  Schema.Struct({ accountName: AccountName, projectName: ProjectName })
)
const decodePageQuery = Promises.makeParameterDecoder(PageQuery)
const decodeBranch = Promises.makeBodyDecoder(Branch)

const encodeDeployment = Schema.encodeSync(Deployment)
const encodeDeployments = Schema.encodeSync(Page(Deployment))
const encodeStatus = Schema.encodeSync(DeploymentStatus)

/** Parses the id, expiry and signature of an upload URL. */
const parseUploadUrl = (uploadUrl: string): Effect.Effect<SignedUploadUrl, UploadForbidden> => {
  const url = URL.canParse(uploadUrl) ? new URL(uploadUrl) : undefined
  const [, id] = /\/v1\/uploads\/([^/]+)\.tar\.gz$/.exec(url?.pathname ?? "") ?? []
  if (url === undefined || id === undefined) return Effect.fail(new UploadForbidden())
  const { searchParams } = url
  return Effect.succeed({
    id,
    expires: searchParams.get("expires") ?? "",
    signature: searchParams.get("signature") ?? ""
  })
}

export const deploymentsPromise = (
  deployments: Omit<Deployments["Service"], "getServedRelease">,
  uploads: Uploads["Service"]
) => ({
  /**
   * Creates a signed URL for one upload of a branch's source. The file name in the URL, without `.tar.gz`, is the id of
   * the deployment status.
   */
  createSource: (
    branch: typeof Branch.Encoded,
    options: IdempotencyOption = {}
  ): Promise<{ readonly uploadUrl: string }> =>
    Promises.run(
      Effect.gen(function* () {
        const key = yield* Promises.decodeIdempotencyOption(options)
        const decoded = yield* decodeBranch(branch)
        const idempotency = Promises.makeIdempotency(key, ["deployments.createSource"], branch)
        return yield* uploads.create(decoded, { idempotency })
      })
    ),

  /** Uploads a source archive (gzip tar) to a signed upload URL, which starts the deployment. */
  upload: (
    uploadUrl: string,
    source: SourceContent
  ): Promise<{ readonly id: string; readonly digest: string; readonly bytes: number }> =>
    Promises.run(
      Effect.flatMap(parseUploadUrl(uploadUrl), (signedUrl) =>
        uploads.receive(signedUrl, toSourceStream(source), { transferOwnership: true })
      )
    ),

  /** Returns the deployment status of an upload. */
  status: (accountName: string, projectName: string, statusId: string): Promise<DeploymentStatusJson> =>
    Promises.run(
      Effect.gen(function* () {
        const project = yield* decodeProject({ accountName, projectName })
        return encodeStatus((yield* deployments.status(project, statusId)).value)
      })
    ),

  /** Returns a page of a project's deployments, oldest first. */
  list: (
    accountName: string,
    projectName: string,
    page: typeof PageQuery.Encoded = {}
  ): Promise<PageJson<DeploymentJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const project = yield* decodeProject({ accountName, projectName })
        return encodeDeployments(yield* deployments.list(project, { ...firstPage, ...(yield* decodePageQuery(page)) }))
      })
    ),

  /** Returns a deployment. */
  get: (name: string): Promise<DeploymentJson> =>
    Promises.run(Effect.map(deployments.get(name), ({ value }) => encodeDeployment(value))),

  /** Deploys the latest source again. */
  deploy: (name: string, options: IdempotencyOption = {}): Promise<DeployResult> =>
    Promises.run(
      Effect.gen(function* () {
        const key = yield* Promises.decodeIdempotencyOption(options)
        const idempotency = Promises.makeIdempotency(key, ["deployments.deploy", name], null)
        return yield* deployments.deploy(name, { idempotency })
      })
    ),

  /** Stops serving a deployment, and deletes all its data. */
  remove: (name: string): Promise<void> => Promises.run(deployments.remove(name))
})
