/**
 * `tollgate/decisions`: the log of refusals and outcomes, as a module of `createTollgate`.
 */

export { type DecisionsModule, decisions } from "@tollgate/decisions"
export * from "@tollgate/decisions/client"
