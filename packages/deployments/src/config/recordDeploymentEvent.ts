import { type EventType, recordEvent, skipChecks } from "@tollgate/core/module"
import { Schema } from "effect"
import { Deployment } from "../model/Deployment.ts"
import type { DeploymentRecord } from "../model/deploymentRecords.ts"
import type { DeploymentConfigShape } from "./DeploymentConfig.ts"
import { toDeployment } from "./toDeployment.ts"

const encode = Schema.encodeSync(Deployment, skipChecks)

export type DeploymentEventType = Extract<EventType, `deployment.${string}`>

/** The change that records an event of a deployment. */
export const recordDeploymentEvent = (
  type: DeploymentEventType,
  config: DeploymentConfigShape,
  record: DeploymentRecord
) => {
  const { name, accountName } = record
  const data = encode(toDeployment(config, record))
  return recordEvent(type, { accountName, subject: { type: "deployment", id: name, name }, data })
}
