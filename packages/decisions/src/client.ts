/**
 * `@tollgate/decisions/client`: the log of refusals and outcomes for `createClient`.
 */

export type { DecisionLogMethods, RefusalPageJson } from "./DecisionLogApi.ts"
export { type DecisionsOfAccount, decisionsClient } from "./decisionsDeclaration.ts"
export type { OutcomesJson } from "./Outcomes.ts"
export type { RefusalJson } from "./Refusal.ts"
