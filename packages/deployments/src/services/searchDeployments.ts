/**
 * Finds the deployments of an account by their name, project and branch.
 */
import { type SearchSource, searchRecords } from "@tollgate/core/module"
import { Effect } from "effect"
import { getNameSearchFields, nameReservations } from "../model/nameRecords.ts"
import { deploymentDirectory } from "../model/partitions.ts"

const permission = "deployments:read"

export const searchDeployments: SearchSource = ({ accountName, text, limit, maySee }) => {
  if (!maySee(permission)) return Effect.succeed([])
  const found = searchRecords(nameReservations, deploymentDirectory, {
    text,
    limit,
    scope: accountName,
    getFields: getNameSearchFields
  })
  return Effect.map(found, (found) =>
    found.map(({ value: { name, projectName, branchName }, matched, isExact }) => ({
      permission,
      type: "deployment",
      id: name,
      name: `${projectName}/${branchName}`,
      matched,
      isExact
    }))
  )
}
