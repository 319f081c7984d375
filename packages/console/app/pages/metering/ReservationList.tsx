import { request, toPath } from "@tollgate/ui/api/request.ts"
import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { useState } from "preact/hooks"
import type { ReservationJson } from "../../api/types.ts"
import { canWrite } from "../../session/session.ts"
import { endReservation, getReservationState, type OwnReservation, ownReservations } from "./reservations.ts"
import { SettleDialog } from "./SettleDialog.tsx"

const describeAmounts = ({ meters }: ReservationJson): string =>
  Object.entries(meters)
    .map(([meter, amount]) => `${meter}: ${formatCount(amount)}`)
    .join(", ")

const ReservationTable = ({
  rows,
  onSettle,
  onRelease
}: {
  readonly rows: ReadonlyArray<OwnReservation>
  readonly onSettle: (reservation: ReservationJson) => void
  readonly onRelease: (reservation: ReservationJson) => void
}) => {
  const now = Date.now()
  return (
    <Table
      caption="Reservations of this tab"
      rows={rows}
      getKey={({ reservation }) => reservation.id}
      columns={[
        { title: "Id", render: ({ reservation }) => <code>{reservation.id}</code> },
        { title: "Amounts", render: ({ reservation }) => describeAmounts(reservation) },
        { title: "State", render: (own) => <Badge>{getReservationState(own, now)}</Badge> },
        { title: "Expires", render: ({ reservation }) => <Time value={reservation.expiresOn} /> },
        {
          title: "Actions",
          render: (own) =>
            canWrite.value &&
            getReservationState(own, now) === "open" && (
              <div class="row-actions">
                <Button isSmall label={`Settle ${own.reservation.id}`} onClick={() => onSettle(own.reservation)}>
                  Settle
                </Button>
                <Button isSmall label={`Release ${own.reservation.id}`} onClick={() => onRelease(own.reservation)}>
                  Release
                </Button>
              </div>
            )
        }
      ]}
    />
  )
}

/** The reservations that were made in this tab, to settle or release them. */
export const ReservationList = ({
  subscription,
  path,
  onChange
}: {
  readonly subscription: string
  /** The path of the subscription's quotas. */
  readonly path: string
  readonly onChange: () => void
}) => {
  const [settled, setSettled] = useState<ReservationJson>()
  const [released, setReleased] = useState<ReservationJson>()
  const rows = ownReservations.value.filter((own) => own.subscription === subscription)
  const end = ({ id }: ReservationJson, state: "settled" | "released"): void => {
    endReservation(id, state)
    onChange()
  }
  return (
    <>
      {rows.length > 0 && <ReservationTable rows={rows} onSettle={setSettled} onRelease={setReleased} />}
      {settled !== undefined && (
        <SettleDialog
          path={path}
          reservation={settled}
          onSettled={() => end(settled, "settled")}
          onClose={() => setSettled(undefined)}
        />
      )}
      {released !== undefined && (
        <ConfirmDialog
          title="Release the reservation?"
          confirmLabel="Release"
          onConfirm={async () => {
            await request("DELETE", toPath(`${path}/reservations`, released.id))
            showToast("The reservation was released.")
            end(released, "released")
          }}
          onClose={() => setReleased(undefined)}
        >
          <p>All that it holds is given back: {describeAmounts(released)}.</p>
        </ConfirmDialog>
      )}
    </>
  )
}
