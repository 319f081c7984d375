/**
 * `tollgate/fetch`: Tollgate for Fetch handlers, as in Hono and Next.
 */
export * from "@tollgate/fetch"
