/**
 * `tollgate/decisions/client`: the log of refusals and outcomes for `createClient`.
 */
export * from "@tollgate/decisions/client"
