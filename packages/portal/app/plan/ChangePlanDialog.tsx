import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { fill } from "@tollgate/ui/words.ts"
import { toWebUrl } from "../layout/toWebUrl.ts"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { OfferJson, PortalPlanChangedJson } from "../types.ts"
import { planRevision } from "./planRevision.ts"

export interface ChangePlanDialogProps {
  readonly offer: OfferJson
  readonly currentName: string | undefined
  readonly onClose: () => void
}

/** Asks before the plan is changed. The host may lead to a page of its own, such as a checkout. */
export const ChangePlanDialog = ({ offer, currentName, onClose }: ChangePlanDialogProps) => {
  const plan = offer.name
  const change = useAction(async () => {
    const { value } = await request<PortalPlanChangedJson>("POST", toPortalPath("/plan"), { body: { plan } })
    const url = toWebUrl(value.url)
    if (url !== undefined) return location.assign(url)
    showToast(fill(texts.planChanged, { plan }))
    planRevision.value++
    onClose()
  })
  return (
    <FormDialog
      title={fill(texts.planConfirmTitle, { plan })}
      submitLabel={texts.planConfirmSubmit}
      action={change}
      onClose={onClose}
    >
      {offer.price !== undefined && <p>{offer.price}</p>}
      {currentName !== undefined && <p>{fill(texts.planConfirm, { plan: currentName })}</p>}
    </FormDialog>
  )
}
