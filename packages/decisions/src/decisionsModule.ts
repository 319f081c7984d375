import { defineModule, type Module } from "@tollgate/core/module"
import { Effect } from "effect"
import { DecisionLog } from "./DecisionLog.ts"
import { decisionExamples } from "./decisionExamples.ts"
import { type DecisionsOfAccount, decisionsClient } from "./decisionsDeclaration.ts"

/** The log of refusals and outcomes, as a module: what `decisions` returns. */
export type DecisionsModule = Module<DecisionsOfAccount, object, DecisionLog>

/**
 * Keeps why requests were refused, and counts how many were allowed and refused.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, modules: [decisions()] })
 * const { data } = await gate.account("acme").decisions.listOfConsumer("production", "alice")
 * console.log(data[0]?.reason)
 * ```
 */
export const decisions = (): DecisionsModule =>
  defineModule({
    ...decisionsClient,
    layer: DecisionLog.layer,
    operations: Effect.map(DecisionLog, (decisionLog) => ({ decisionLog })),
    examples: { decisionLog: decisionExamples }
  })
