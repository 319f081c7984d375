/**
 * What deployments add to the handle of an account.
 */
import {
  type AccountName,
  type AnyRequest,
  type CallOptions,
  captureCaller,
  type HandleTools,
  makeDecoder,
  parseOptions,
  run,
  withCallerStack
} from "@tollgate/core/module"
import { Effect, Schema } from "effect"
import { UploadForbidden } from "../model/DeploymentError.ts"
import type { DeploymentLogJson, LogLine } from "../model/DeploymentLog.ts"
import { ProjectName } from "../model/names.ts"
import type { DeploymentsMethods } from "../services/DeploymentsApi.ts"
import type { ProjectsMethods } from "../services/ProjectsApi.ts"
import { type SourceContent, toSourceStream } from "../uploads/sourceStream.ts"
import { type FollowLogOptions, followLog } from "./followLog.ts"

declare module "@tollgate/core/module" {
  interface EventTypes {
    "deployment.created": true
    "deployment.succeeded": true
    "deployment.failed": true
    "deployment.rolled_back": true
    "deployment.promoted": true
    "deployment.deleted": true
  }
}

/** The result of an upload. */
export interface UploadedSource {
  /** The id of the deployment status. */
  readonly id: string
  /** The SHA-256 of the source, in hexadecimal. */
  readonly digest: string
  readonly bytes: number
}

/** A project: branches that are deployed. */
export interface ProjectHandle {
  readonly accountName: string
  readonly projectName: string
  readonly deployments: DeploymentsMethods & {
    /** Uploads a source archive (gzip tar) to a signed upload URL, which authorizes it, and starts the deployment. */
    upload(uploadUrl: string, source: SourceContent, options?: CallOptions): Promise<UploadedSource>
    /**
     * Iterates over the lines of a log, and waits for new ones until the run ends. It goes on when the server is away for
     * some seconds. Returns the status.
     *
     * @example
     * ```ts
     * const web = gate.account("acme").project("web").deployments
     * for await (const { text } of web.followLog("the-id-of-an-upload")) console.log(text)
     * ```
     */
    followLog(statusId: string, options?: FollowLogOptions): AsyncGenerator<LogLine, DeploymentLogJson["status"]>
  }
}

/** What deployments add to the handle of an account. */
export interface DeploymentsOfAccount {
  readonly projects: ProjectsMethods
  /** A project of the account. It exists as soon as it has a deployment. Throws if the name is invalid. */
  project(name: string): ProjectHandle
}

const decodeName = makeDecoder(Schema.Struct({ projectName: ProjectName }), "parameters")

/** The request that an upload URL stands for. */
const parseUploadUrl = (uploadUrl: string): Effect.Effect<AnyRequest, UploadForbidden> => {
  const url = typeof uploadUrl === "string" && URL.canParse(uploadUrl) ? new URL(uploadUrl) : undefined
  const [, id] = /\/v1\/uploads\/([^/]+)\.tar\.gz$/.exec(url?.pathname ?? "") ?? []
  if (url === undefined || id === undefined) return Effect.fail(new UploadForbidden())
  const { searchParams } = url
  return Effect.succeed({
    params: { file: `${id}.tar.gz` },
    query: { expires: searchParams.get("expires") ?? "", signature: searchParams.get("signature") ?? "" },
    headers: {}
  })
}

const makeProject = ({ descriptions, call, methods }: HandleTools, accountName: AccountName, name: string) => {
  const { projectName } = Effect.runSync(decodeName({ projectName: name }))
  const receive = descriptions.find(({ id }) => id === "uploads.receive")
  const upload = (uploadUrl: string, source: SourceContent, options?: CallOptions) => {
    const start = async () => {
      const { signal } = parseOptions(options)
      const send = Effect.flatMap(parseUploadUrl(uploadUrl), (request) =>
        receive === undefined
          ? Effect.die("There is no operation for uploads")
          : call(receive, {}, { ...request, payload: toSourceStream(source) })
      )
      return (await run(send, signal, call.enter?.())) as UploadedSource
    }
    return withCallerStack(start(), captureCaller(upload))
  }
  const operations = methods<DeploymentsMethods>("deployments", { accountName, projectName })
  const handle: ProjectHandle = {
    accountName,
    projectName,
    deployments: {
      ...operations,
      upload,
      followLog: (statusId, options) => followLog(operations, statusId, options)
    }
  }
  return handle
}

export const deploymentHandles = {
  projects: ({ methods }: HandleTools, accountName: AccountName) =>
    methods<ProjectsMethods>("projects", { accountName }),
  project: (tools: HandleTools, accountName: AccountName) => (name: string) => makeProject(tools, accountName, name)
}
