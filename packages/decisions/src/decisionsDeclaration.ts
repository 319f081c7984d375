import type { AccountName, ClientModule, HandleTools } from "@tollgate/core/module"
import { DecisionLogApi, type DecisionLogMethods } from "./DecisionLogApi.ts"

/** What decisions add to the handle of an account. */
export interface DecisionsOfAccount {
  /** Why requests were refused, and how many were allowed and refused. */
  readonly decisions: DecisionLogMethods
}

/** What decisions declare, for a Tollgate in process and for a client. */
export const decisionsClient = {
  name: "decisions",
  groups: () => [DecisionLogApi],
  account: {
    decisions: ({ methods }: HandleTools, accountName: AccountName) =>
      methods<DecisionLogMethods>("decisionLog", { accountName })
  }
} satisfies ClientModule as ClientModule<DecisionsOfAccount>
