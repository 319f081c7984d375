import { useState } from "preact/hooks"
import { get } from "../../api/request.ts"
import type { QuotasJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { QuotaBar } from "../../components/QuotaBar.tsx"
import { Section } from "../../components/Section.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { useReloadOn } from "../../data/useReloadOn.ts"
import { canWrite } from "../../session/session.ts"
import { ConsumeDialog, ReserveDialog } from "./CountDialog.tsx"
import { toSubscriptionPath } from "./meteringAddresses.ts"
import { ReservationList } from "./ReservationList.tsx"
import { addReservation } from "./reservations.ts"

export interface QuotaSectionProps {
  readonly bucket: string
  readonly subscription: string
  /** The labels of meters that have one. */
  readonly labels: Readonly<Record<string, string>>
  /** Another number loads the quotas again. */
  readonly revision: number
  readonly onChange: () => void
}

/** What is used in the present period, and what may be counted by hand. */
export const QuotaSection = ({ bucket, subscription, labels, revision, onChange }: QuotaSectionProps) => {
  const path = `${toSubscriptionPath(bucket, subscription)}/quotas`
  const [dialog, setDialog] = useState<"consume" | "reserve">()
  const quotas = useQuery(`quotas ${path}`, (signal) => get<QuotasJson>(path, {}, signal))
  useReloadOn(quotas, revision)
  const meters = Object.keys(quotas.data?.meters ?? {}).sort()
  const close = () => setDialog(undefined)
  const toLabel = (meter: string): string => (Object.hasOwn(labels, meter) ? `${labels[meter]} (${meter})` : meter)
  return (
    <Section
      title="Quotas"
      actions={
        canWrite.value && (
          <>
            <Button onClick={() => setDialog("consume")}>Count usage</Button>
            <Button onClick={() => setDialog("reserve")}>Reserve</Button>
          </>
        )
      }
    >
      <QueryView query={quotas}>
        {({ meters: quotas, periodStart, resetsOn }) => (
          <>
            <div class="quotas">
              {meters.map((meter) => (
                <QuotaBar key={meter} label={toLabel(meter)} used={quotas[meter]?.used ?? 0} max={quotas[meter]?.max} />
              ))}
            </div>
            <p class="hint">
              The period began <Time value={periodStart} />. The quotas reset <Time value={resetsOn} />.
            </p>
          </>
        )}
      </QueryView>
      <ReservationList subscription={subscription} path={path} onChange={onChange} />
      {dialog === "consume" && <ConsumeDialog path={path} meters={meters} onConsumed={onChange} onClose={close} />}
      {dialog === "reserve" && (
        <ReserveDialog
          path={path}
          meters={meters}
          onReserved={(reservation) => {
            addReservation(subscription, reservation)
            onChange()
          }}
          onClose={close}
        />
      )}
    </Section>
  )
}
