/**
 * `tollgate/express`: Tollgate for Express.
 */
export * from "@tollgate/express"
