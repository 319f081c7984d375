/**
 * `tollgate/tokens/client`: management tokens and sessions for `createClient`.
 */
export * from "@tollgate/tokens/client"
