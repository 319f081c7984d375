import type { ByteCounter } from "@tollgate/core/module"
import { deploymentDirectory } from "./partitions.ts"

/** Sources and releases. In the directory of deployments, to be counted in one commit with the names of deployments. */
export const deploymentBytes = (accountName: string): ByteCounter => ({
  partition: deploymentDirectory,
  counter: `bytes:${accountName}`
})
