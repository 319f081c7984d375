/**
 * Deployments for callers outside Effect.
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

const decodeProject = Promises.decodeParameters(Schema.Struct({ accountName: AccountName, projectName: ProjectName }))
const pageQuery = Promises.decodeParameters(PageQuery)
const decodeBranch = Promises.decodeBody(Branch)

const encodeDeployment = Schema.encodeSync(Deployment)
const encodeDeployments = Schema.encodeSync(Page(Deployment))
const encodeStatus = Schema.encodeSync(DeploymentStatus)

/** What an address that was given out says. */
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
  deployments: Omit<Deployments["Service"], "served">,
  uploads: Uploads["Service"]
) => ({
  /** Gives out an address for one upload of a branch's source. Its last part, less `.tar.gz`, is the id of its status. */
  createSource: (
    branch: typeof Branch.Encoded,
    options: IdempotencyOption = {}
  ): Promise<{ readonly uploadUrl: string }> =>
    Promises.run(
      Effect.gen(function* () {
        const key = yield* Promises.decodeIdempotencyOption(options)
        const given = yield* decodeBranch(branch)
        const idempotency = Promises.idempotency(key, ["deployments.createSource"], branch)
        return yield* uploads.create(given, { idempotency })
      })
    ),

  /** Sends a source, a gzip tar, to the address that was given out for it: the start of its deployment. */
  upload: (
    uploadUrl: string,
    source: SourceContent
  ): Promise<{ readonly id: string; readonly digest: string; readonly bytes: number }> =>
    Promises.run(
      Effect.flatMap(parseUploadUrl(uploadUrl), (address) =>
        uploads.receive(address, toSourceStream(source), { isHandedOver: true })
      )
    ),

  /** How the version of an upload fares. */
  status: (accountName: string, projectName: string, statusId: string): Promise<DeploymentStatusJson> =>
    Promises.run(
      Effect.gen(function* () {
        const project = yield* decodeProject({ accountName, projectName })
        return encodeStatus((yield* deployments.status(project, statusId)).value)
      })
    ),

  /** A page of a project's deployments, oldest first. */
  list: (
    accountName: string,
    projectName: string,
    page: typeof PageQuery.Encoded = {}
  ): Promise<PageJson<DeploymentJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const project = yield* decodeProject({ accountName, projectName })
        return encodeDeployments(yield* deployments.list(project, { ...firstPage, ...(yield* pageQuery(page)) }))
      })
    ),

  get: (name: string): Promise<DeploymentJson> =>
    Promises.run(Effect.map(deployments.get(name), ({ value }) => encodeDeployment(value))),

  /** Runs the last source once more. */
  deploy: (name: string, options: IdempotencyOption = {}): Promise<DeployResult> =>
    Promises.run(
      Effect.gen(function* () {
        const key = yield* Promises.decodeIdempotencyOption(options)
        const idempotency = Promises.idempotency(key, ["deployments.deploy", name], null)
        return yield* deployments.deploy(name, { idempotency })
      })
    ),

  /** Stops serving a deployment, and removes everything of it. */
  remove: (name: string): Promise<void> => Promises.run(deployments.remove(name))
})
