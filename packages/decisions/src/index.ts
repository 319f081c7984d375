/**
 * `@tollgate/decisions`: the log of refusals and outcomes as a module of `createTollgate`, its service and its schemas.
 */

export { DecisionLog } from "./DecisionLog.ts"
export type { DecisionLogMethods, RefusalPageJson } from "./DecisionLogApi.ts"
export type { DecisionsOfAccount } from "./decisionsDeclaration.ts"
export { type DecisionsModule, decisions } from "./decisionsModule.ts"
export { Outcomes, type OutcomesJson } from "./Outcomes.ts"
export { Refusal, type RefusalJson, RefusalReason } from "./Refusal.ts"
