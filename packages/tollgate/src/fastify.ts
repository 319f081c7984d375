/**
 * `tollgate/fastify`: Tollgate for Fastify.
 */
export * from "@tollgate/fastify"
