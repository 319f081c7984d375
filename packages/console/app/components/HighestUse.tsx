import type { ListedSubscriptionJson } from "../api/types.ts"
import { MeterQuota } from "./MeterQuota.tsx"
import { findHighestUse } from "./quotas.ts"

/** The quota of a subscription of which the largest share is used. */
export const HighestUse = ({ usage }: { readonly usage: ListedSubscriptionJson["usage"] }) => {
  const highest = findHighestUse(usage)
  return highest === undefined ? <>–</> : <MeterQuota label={highest.meter} quota={highest.quota} />
}
