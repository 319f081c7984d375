/**
 * `tollgate/tokens`: management tokens and sessions, as a module of `createTollgate`.
 */

export { type TokensModule, tokens } from "@tollgate/tokens"
export * from "@tollgate/tokens/client"
