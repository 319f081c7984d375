/**
 * `tollgate/console`: the console, as a module of `createTollgate`.
 */
export * from "@tollgate/console"
