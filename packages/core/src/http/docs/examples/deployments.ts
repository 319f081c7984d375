import type { DeploymentJson } from "../../../deployments/model/Deployment.ts"
import type { DeploymentStatusJson } from "../../../deployments/model/DeploymentStatus.ts"
import type { DeploymentVersionJson } from "../../../deployments/model/DeploymentVersion.ts"
import { created, exampleDigest, pageOf } from "./common.ts"
import type { AllExamples } from "./Examples.ts"

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
  isServed: true
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

export const projects: AllExamples["projects"] = {
  list: { response: pageOf({ name: "web", createdOn: created }) }
}

export const deployments: AllExamples["deployments"] = {
  status: { response: status },
  list: { response: pageOf(deployment) },
  createSource: {
    request: branch,
    response: {
      uploadUrl: `https://api.example.com/v1/uploads/${uploadId}.tar.gz?expires=1794825000000&signature=…`
    }
  },
  get: { response: deployment },
  versions: { response: pageOf(version) },
  deploy: { response: { status: "request enqueued" } }
}

export const uploads: AllExamples["uploads"] = {
  receive: { response: { id: uploadId, digest: exampleDigest, bytes } }
}
