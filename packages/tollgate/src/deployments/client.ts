/**
 * `tollgate/deployments/client`: deployments for `createClient`.
 */
export * from "@tollgate/deployments/client"
