/**
 * `tollgate/webhooks/client`: webhooks for `createClient`.
 */
export * from "@tollgate/webhooks/client"
