import { get } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useReloadOn } from "@tollgate/ui/data/useReloadOn.ts"
import { useState } from "preact/hooks"
import type { QuotasJson } from "../../api/types.ts"
import { MeterQuota } from "../../components/MeterQuota.tsx"
import { may, maySell } from "../../session/session.ts"
import { ConsumeDialog, ReserveDialog } from "./CountDialog.tsx"
import { CreditList } from "./CreditList.tsx"
import type { RaisedMeter } from "./EditSubscriptionDialog.tsx"
import { GiveCreditDialog } from "./GiveCreditDialog.tsx"
import { toSubscriptionPath } from "./meteringAddresses.ts"
import { ReservationList } from "./ReservationList.tsx"
import { addReservation } from "./reservations.ts"

export interface QuotaSectionProps {
  readonly account: string
  readonly bucket: string
  readonly customerKey: string
  readonly subscription: string
  /** The labels of meters that have one. */
  readonly labels: Readonly<Record<string, string>>
  /** Another number loads the quotas again. */
  readonly revision: number
  readonly onChange: () => void
  readonly onRaise: (meter: RaisedMeter) => void
}

/** When a meter resets that does not have the period of the subscription. */
const OtherPeriod = ({
  label,
  quota
}: {
  readonly label: string
  readonly quota: QuotasJson["meters"][string] | undefined
}) =>
  quota?.periodStart === undefined ? null : (
    <p class="hint">
      {label}{" "}
      {quota.resetsOn === undefined ? (
        "never resets"
      ) : (
        <>
          resets <Time value={quota.resetsOn} />
        </>
      )}
      .
    </p>
  )

type OpenDialog = "consume" | "reserve" | { readonly credited: string }

/** What is used in the present period, the credit beyond it, and what may be counted by hand. */
export const QuotaSection = ({
  account,
  bucket,
  customerKey,
  subscription,
  labels,
  revision,
  onChange,
  onRaise
}: QuotaSectionProps) => {
  const path = `${toSubscriptionPath(bucket, subscription)}/quotas`
  const [dialog, setDialog] = useState<OpenDialog>()
  const quotas = useQuery(`quotas ${path}`, (signal) => get<QuotasJson>(path, {}, signal))
  useReloadOn(quotas, revision)
  const meters = Object.keys(quotas.data?.meters ?? {}).sort()
  const close = () => setDialog(undefined)
  const toLabel = (meter: string): string => (Object.hasOwn(labels, meter) ? `${labels[meter]} (${meter})` : meter)
  return (
    <Section title="Quotas">
      <QueryView query={quotas}>
        {({ meters: quotas, periodStart, resetsOn }) => (
          <>
            <div class="quotas">
              {Object.entries(quotas)
                .sort(([a], [b]) => (a < b ? -1 : 1))
                .map(([meter, quota]) => (
                  <MeterQuota key={meter} label={toLabel(meter)} quota={quota} />
                ))}
            </div>
            <div class="form-actions">
              {maySell() &&
                meters.map((name) => (
                  <Button key={name} isSmall onClick={() => onRaise({ name, max: quotas[name]?.max ?? 0 })}>
                    Raise {name}
                  </Button>
                ))}
              {may("grants:write") &&
                meters.map((name) => (
                  <Button key={name} isSmall onClick={() => setDialog({ credited: name })}>
                    Give credit of {name}
                  </Button>
                ))}
            </div>
            <p class="hint">
              The period began <Time value={periodStart} />. The quotas reset <Time value={resetsOn} />.
            </p>
            {meters.map((meter) => (
              <OtherPeriod key={meter} label={toLabel(meter)} quota={quotas[meter]} />
            ))}
          </>
        )}
      </QueryView>
      <h3>Credit</h3>
      <CreditList account={account} bucket={bucket} customerKey={customerKey} revision={revision} onChange={onChange} />
      {may("metering:write") && (
        <details class="developer-tools">
          <summary>Developer tools</summary>
          <p class="hint">They do what a request of the customer does.</p>
          <div class="form-actions">
            <Button isSmall onClick={() => setDialog("consume")}>
              Count usage
            </Button>
            <Button isSmall onClick={() => setDialog("reserve")}>
              Reserve
            </Button>
          </div>
        </details>
      )}
      <ReservationList subscription={subscription} path={path} onChange={onChange} />
      {typeof dialog === "object" && quotas.data !== undefined && (
        <GiveCreditDialog
          bucket={bucket}
          customerKey={customerKey}
          quotas={quotas.data}
          meter={dialog.credited}
          onSaved={onChange}
          onClose={close}
        />
      )}
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
