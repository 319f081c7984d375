/**
 * `tollgate/koa`: Tollgate for Koa.
 */
export * from "@tollgate/koa"
