import { Bytes, type ClientModule } from "@tollgate/core/module"
import { DeploymentNotFound } from "../model/DeploymentError.ts"
import { DeploymentsApi, UploadsApi } from "../services/DeploymentsApi.ts"
import { ProjectsApi } from "../services/ProjectsApi.ts"
import { deploymentEvents } from "./deploymentEvents.ts"
import { type DeploymentsOfAccount, deploymentHandles } from "./deploymentHandles.ts"

/** What deployments declare, for a Tollgate in process and for a client. */
export const deploymentsClient = {
  name: "deployments",
  accountFields: { deploymentBytes: Bytes.annotate({ description: "The bytes of sources and releases." }) },
  groups: () => [ProjectsApi, DeploymentsApi, UploadsApi],
  events: deploymentEvents,
  account: deploymentHandles,
  owned: {
    deployment: ({ deploymentName = "" }: Readonly<Record<string, string>>) =>
      new DeploymentNotFound({ deployment: deploymentName })
  }
} satisfies ClientModule as ClientModule<DeploymentsOfAccount>
