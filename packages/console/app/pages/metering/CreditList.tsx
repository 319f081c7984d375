import { request, toPath } from "@tollgate/ui/api/request.ts"
import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useReloadOn } from "@tollgate/ui/data/useReloadOn.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { useState } from "preact/hooks"
import type { GrantJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { nearShare } from "../../components/quotas.ts"
import { useList } from "../../data/useList.ts"
import { linkTo } from "../../routing/router.ts"
import { may } from "../../session/session.ts"
import { toCustomerPath } from "./meteringAddresses.ts"

const tones = { active: "good", pending: "neutral", depleted: "bad", expired: "warning", voided: "warning" } as const

const isLow = ({ state, used, amount }: GrantJson): boolean => state === "active" && used >= amount * nearShare

const canVoid = ({ state }: GrantJson): boolean => state === "active" || state === "pending"

/** What a customer got beyond what its plans allow, and what is left of it. */
export const CreditList = ({
  account,
  bucket,
  customerKey,
  revision,
  onChange
}: {
  readonly account: string
  readonly bucket: string
  readonly customerKey: string
  /** Another number loads it again. */
  readonly revision: number
  readonly onChange: () => void
}) => {
  const path = `${toCustomerPath(bucket, customerKey)}/grants`
  const [voided, setVoided] = useState<GrantJson>()
  const grants = useList<GrantJson>(path, {}, { offsetName: `credit-${bucket}` })
  useReloadOn(grants, revision)
  return (
    <>
      <PagedTable
        list={grants}
        caption={`Credit of ${customerKey}`}
        getKey={({ id }) => id}
        empty={<p class="hint">It has got no credit.</p>}
        columns={[
          {
            title: "Credit",
            render: ({ id, meter, amount }) => (
              <a href={linkTo(["accounts", account, "events"], { subject: id })} title={`Events of ${id}`}>
                {formatCount(amount)} {meter}
              </a>
            )
          },
          { title: "Left", align: "right", render: ({ remaining }) => formatCount(remaining) },
          {
            title: "State",
            render: (grant) => (
              <>
                <Badge tone={tones[grant.state]}>{grant.state}</Badge>{" "}
                {isLow(grant) && <Badge tone="warning">low credit</Badge>}
              </>
            )
          },
          { title: "Given", render: ({ createdOn }) => <Time value={createdOn} /> },
          {
            title: "Expires",
            render: ({ expiresOn }) => (expiresOn === undefined ? "never" : <Time value={expiresOn} />)
          },
          { title: "Reason", render: ({ reason }) => <span class="short-text">{reason}</span> },
          ...(may("grants:write")
            ? [
                {
                  title: "Actions",
                  render: (grant: GrantJson) =>
                    canVoid(grant) && (
                      <Button
                        kind="destructive"
                        isSmall
                        label={`Take back ${formatCount(grant.remaining)} ${grant.meter}`}
                        onClick={() => setVoided(grant)}
                      >
                        Take back
                      </Button>
                    )
                }
              ]
            : [])
        ]}
      />
      {voided !== undefined && (
        <ConfirmDialog
          title={`Take back credit of ${customerKey}`}
          confirmLabel="Take back"
          onConfirm={async () => {
            await request("POST", `${toPath(path, voided.id)}/void`)
            showToast(`The credit of ${customerKey} was taken back.`)
            grants.reload()
            onChange()
          }}
          onClose={() => setVoided(undefined)}
        >
          <p>
            {customerKey} loses the {formatCount(voided.remaining)} {voided.meter} that are left. What was used stays
            used. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
