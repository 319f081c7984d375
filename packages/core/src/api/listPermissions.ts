import type { OperationDescription } from "./describeOperations.ts"

/** The permissions that operations need, in alphabetical order. */
export const listPermissions = (descriptions: ReadonlyArray<OperationDescription>): ReadonlyArray<string> => {
  const ofOperations = descriptions.flatMap(({ permission, furtherPermissions, narrowPermissions, ...operation }) => [
    ...(permission === undefined ? [] : [permission]),
    ...Object.keys(furtherPermissions),
    ...Object.keys(narrowPermissions),
    ...operation.optionalPermissions
  ])
  return [...new Set([...ofOperations, "metrics:read"])].sort()
}
