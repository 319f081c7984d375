/**
 * `tollgate/node`: Tollgate for `node:http` and `node:http2`.
 */
export * from "@tollgate/node"
