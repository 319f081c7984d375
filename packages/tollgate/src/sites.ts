/**
 * `tollgate/sites`: hosting of static sites, for `deployments`.
 */
export * from "@tollgate/sites"
