import { request, toPath } from "../../api/request.ts"
import type { DeliveryJson, PageJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { Pager } from "../../components/Pager.tsx"
import { ProblemNotice } from "../../components/ProblemNotice.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { showToast } from "../../components/toasts.tsx"
import { useAction } from "../../data/useAction.ts"
import type { QueryState } from "../../data/useQuery.ts"
import { setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { useInterval } from "../../timing/useInterval.ts"
import { DeliveryTable } from "./DeliveryTable.tsx"

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
  readonly deliveries: QueryState<PageJson<DeliveryJson>>
  readonly limit: number
  readonly isEnabled: boolean
}

/** What was sent to a webhook, newest first. */
export const Deliveries = ({ webhookPath, deliveries, limit, isEnabled }: DeliveriesProps) => {
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
      <QueryView query={deliveries}>
        {({ data, total, offset }) =>
          total === 0 ? (
            <p class="hint">Nothing has been sent yet. Send a test, or change something in this account.</p>
          ) : (
            <>
              <DeliveryTable
                deliveries={data}
                onRetry={canWrite.value && isEnabled ? (delivery) => void retry.run(delivery) : undefined}
              />
              <Pager
                offset={offset}
                limit={limit}
                total={total}
                shown={data.length}
                onChange={(offset) => setQuery({ offset: offset || undefined })}
              />
            </>
          )
        }
      </QueryView>
    </Section>
  )
}
