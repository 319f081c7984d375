/**
 * `tollgate/portal/client`: the portal of your customers for `createClient`.
 */
export * from "@tollgate/portal/client"
