/**
 * `tollgate/hono`: Tollgate for Hono.
 */
export * from "@tollgate/fetch/hono"
