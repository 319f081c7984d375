import { request } from "@tollgate/ui/api/request.ts"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import type { MeteringBucketJson } from "../../api/types.ts"
import { goTo } from "../../routing/router.ts"
import { linkToBuckets, toBucketPath } from "./meteringAddresses.ts"

/** Asks before it removes a metering bucket: nothing else takes as much with it. */
export const RemoveBucketDialog = ({
  account,
  bucket: { id, name = id },
  onClose
}: {
  readonly account: string
  readonly bucket: MeteringBucketJson
  readonly onClose: () => void
}) => (
  <ConfirmDialog
    title={`Remove ${name}?`}
    confirmLabel="Remove metering bucket"
    nameToType={name}
    onConfirm={async () => {
      await request("DELETE", toBucketPath(id))
      showToast(`${name} was removed.`)
      goTo(linkToBuckets(account))
    }}
    onClose={onClose}
  >
    <p>
      All its plans, subscriptions and usage are removed with it, and requests that are metered with it are refused.
      This cannot be taken back.
    </p>
  </ConfirmDialog>
)
