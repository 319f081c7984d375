/**
 * `tollgate/client`: the client for a Tollgate in another process.
 */
export * from "@tollgate/core/client"
