import { created, exampleDigest, type GroupExamples, pageOf } from "@tollgate/core/module"
import type { DeploymentJson } from "../model/Deployment.ts"
import type { DeploymentStatusJson } from "../model/DeploymentStatus.ts"
import type { DeploymentVersionJson } from "../model/DeploymentVersion.ts"
import type { DeploymentsApi, UploadsApi } from "../services/DeploymentsApi.ts"
import type { ProjectsApi } from "../services/ProjectsApi.ts"

const branch = { accountName: "acme", projectName: "web", branchName: "main" }
const name = "web-main-x7k2m9q4t1bn"
const url = `https://sites.example.com/sites/${name}/`
const uploadId = "3f0c8a52-6b1d-4e7a-9c35-2d8f41b7e690"
const bytes = 18_312

const deployment: DeploymentJson = {
  name,
  url,
  label: branch.branchName,
  urlParameter: name,
  createdOn: created,
  updatedOn: "2026-11-16T09:30:02.400Z",
  loggingId: `acme::web::main::${name}`,
  ...branch,
  state: "STARTED",
  message: "",
  environmentType: "PRODUCTION"
}

const version: DeploymentVersionJson = {
  id: uploadId,
  createdOn: created,
  status: "SUCCESS",
  digest: exampleDigest,
  bytes,
  isServed: true,
  isKept: true,
  url: "https://sites.example.com/sites/v-k3m7q2x5t4n6b7c2d5f4/"
}

const status: DeploymentStatusJson = {
  status: "SUCCESS",
  url,
  steps: {
    upload: { status: "done", startedOn: "2026-11-16T09:29:58.120Z", finishedOn: created },
    unpack: { status: "done", startedOn: "2026-11-16T09:30:00.100Z", finishedOn: "2026-11-16T09:30:00.900Z" },
    build: { status: "skipped" },
    check: { status: "done", startedOn: "2026-11-16T09:30:01.000Z", finishedOn: "2026-11-16T09:30:01.200Z" },
    publish: { status: "done", startedOn: "2026-11-16T09:30:01.300Z", finishedOn: "2026-11-16T09:30:02.400Z" }
  },
  buildResult: { digest: exampleDigest, files: 12, bytes: 48_213, log: [`Received ${bytes} bytes`] }
}

const projects: GroupExamples<typeof ProjectsApi> = {
  list: { response: pageOf({ name: "web", createdOn: created }) }
}

const deployments: GroupExamples<typeof DeploymentsApi> = {
  status: { response: status },
  log: {
    response: { status: "SUCCESS", lines: [{ number: 1, text: `Received ${bytes} bytes` }], next: "1.end" }
  },
  list: { response: pageOf(deployment) },
  createSource: {
    request: branch,
    response: {
      uploadUrl: `https://api.example.com/v1/uploads/${uploadId}.tar.gz?expires=1794825000000&signature=…`
    }
  },
  get: { response: deployment },
  versions: { response: pageOf(version) },
  deploy: { response: { status: "request enqueued" } },
  rollback: { request: { version: uploadId }, response: { ...deployment, isPinned: true } },
  promote: { request: { version: uploadId }, response: deployment }
}

const uploads: GroupExamples<typeof UploadsApi> = {
  receive: { response: { id: uploadId, digest: exampleDigest, bytes } }
}

/** Examples of the bodies of deployments. */
export const deploymentExamples = { projects, deployments, uploads }
