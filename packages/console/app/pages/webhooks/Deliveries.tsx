import { request, toPath } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useInterval } from "@tollgate/ui/data/useInterval.ts"
import type { DeliveryJson, PageJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import type { List } from "../../data/useList.ts"
import { canWrite } from "../../session/session.ts"
import { makeDeliveryColumns } from "./deliveryColumns.tsx"

/** While something is sent soon, and while it waits for a later attempt. */
const [shortIntervalMs, longIntervalMs] = [2_000, 30_000]
const soonMs = 60_000

/** How often to read the deliveries again; not at all if none is pending. */
const getRefreshInterval = (deliveries: ReadonlyArray<DeliveryJson>): number | undefined => {
  const pending = deliveries.filter(({ status }) => status === "pending")
  if (pending.length === 0) return undefined
  const isSoon = pending.some(
    ({ nextAttemptOn }) => nextAttemptOn === undefined || Date.parse(nextAttemptOn) < Date.now() + soonMs
  )
  return isSoon ? shortIntervalMs : longIntervalMs
}

export interface DeliveriesProps {
  readonly webhookPath: string
  readonly deliveries: List<PageJson<DeliveryJson>>
  readonly isEnabled: boolean
}

/** What was sent to a webhook, newest first. */
export const Deliveries = ({ webhookPath, deliveries, isEnabled }: DeliveriesProps) => {
  const retry = useAction(async ({ id }: DeliveryJson) => {
    await request("POST", `${toPath(`${webhookPath}/deliveries`, id)}/retry`)
    showToast("The delivery is sent again")
    deliveries.reload()
  })
  useInterval(deliveries.refresh, getRefreshInterval(deliveries.data?.data ?? []))
  return (
    <Section
      title="Deliveries"
      actions={
        <Button isSmall onClick={deliveries.reload} label="Refresh the deliveries">
          Refresh
        </Button>
      }
    >
      {retry.problem !== undefined && <ProblemNotice problem={retry.problem} />}
      <PagedTable
        list={deliveries}
        caption="Deliveries of this webhook"
        getKey={({ id }) => id}
        columns={makeDeliveryColumns(canWrite.value && isEnabled ? (delivery) => void retry.run(delivery) : undefined)}
        empty={<p class="hint">Nothing has been sent yet. Send a test, or change something in this account.</p>}
      />
    </Section>
  )
}
