import { request } from "@tollgate/ui/api/request.ts"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import type { PlanJson } from "../../api/types.ts"
import { goTo } from "../../routing/router.ts"
import { linkToBucket, toPlanPath } from "./meteringAddresses.ts"

export const RemovePlanDialog = ({
  account,
  bucket,
  plan,
  onClose
}: {
  readonly account: string
  readonly bucket: string
  readonly plan: PlanJson
  readonly onClose: () => void
}) => (
  <ConfirmDialog
    title={`Remove the plan ${plan.label}?`}
    confirmLabel="Remove plan"
    onConfirm={async () => {
      await request("DELETE", toPlanPath(bucket, plan.id))
      showToast(`The plan ${plan.label} was removed.`)
      goTo(linkToBucket(account, bucket, { tab: "plans" }))
    }}
    onClose={onClose}
  >
    {plan.hasSubscriptions ? (
      <p>
        This plan has subscriptions, so the server will not remove it. First move{" "}
        <a href={linkToBucket(account, bucket, { tab: "subscriptions" })}>the subscriptions</a> to another plan, or
        remove them.
      </p>
    ) : (
      <p>No subscription uses it. This cannot be taken back.</p>
    )}
  </ConfirmDialog>
)
