import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { QuotaBar } from "@tollgate/ui/components/QuotaBar.tsx"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { getAvailable, isCreditLow, type QuotaJson } from "./quotas.ts"

/** What is used of a meter, with what is left of credit and what was used above both. */
export const MeterQuota = ({ label, quota }: { readonly label: string; readonly quota: QuotaJson }) => (
  <>
    <QuotaBar label={label} used={quota.used} max={getAvailable(quota)} />
    {quota.overage !== undefined && (
      <span class="quota-credit hint">
        {label}: {formatCount(quota.overage)} above the quota
      </span>
    )}
    {quota.credit !== undefined && (
      <span class="quota-credit">
        <span class="hint">
          {label}: {quota.credit === 0 ? "no credit left" : `${formatCount(quota.credit)} of credit left`}
        </span>{" "}
        {isCreditLow(quota) && <Badge tone="warning">low credit</Badge>}
      </span>
    )}
  </>
)
