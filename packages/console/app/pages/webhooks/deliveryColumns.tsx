import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import type { Column } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { formatCount, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import type { DeliveryJson } from "../../api/types.ts"

type Attempt = DeliveryJson["attempts"][number]

const tones = { pending: "warning", succeeded: "good", failed: "bad" } as const

const describeResult = ({ statusCode, error, durationMs }: Attempt): string =>
  `${[statusCode === undefined ? undefined : `status ${statusCode}`, error].filter((part) => part !== undefined).join(", ") || "no response"} after ${formatCount(durationMs)} ms`

const Attempts = ({ attempts }: { readonly attempts: ReadonlyArray<Attempt> }) => {
  const last = attempts.at(-1)
  return last === undefined ? (
    <span class="hint">none yet</span>
  ) : (
    <details class="wide-cell">
      <summary>
        {formatQuantity(attempts.length, "attempt")}, the last: {describeResult(last)}
      </summary>
      <ol class="attempts">
        {attempts.map((attempt) => (
          <li key={attempt.startedOn}>
            <Time value={attempt.startedOn} />: {describeResult(attempt)}
          </li>
        ))}
      </ol>
    </details>
  )
}

/** `onRetry` is missing if deliveries cannot be repeated. */
export const makeDeliveryColumns = (
  onRetry?: ((delivery: DeliveryJson) => void) | undefined
): ReadonlyArray<Column<DeliveryJson>> => [
  {
    title: "Event",
    render: ({ type, eventId }) => (
      <>
        <code>{type}</code> <span class="hint">{eventId}</span>
      </>
    )
  },
  { title: "Status", render: ({ status }) => <Badge tone={tones[status]}>{status}</Badge> },
  { title: "Attempts", render: ({ attempts }) => <Attempts attempts={attempts} /> },
  {
    title: "Next attempt",
    render: ({ nextAttemptOn }) => (nextAttemptOn === undefined ? "" : <Time value={nextAttemptOn} />)
  },
  ...(onRetry === undefined
    ? []
    : [
        {
          title: "Actions",
          render: (delivery: DeliveryJson) => (
            <Button isSmall onClick={() => onRetry(delivery)} label={`Retry ${delivery.type} ${delivery.id}`}>
              Retry
            </Button>
          )
        }
      ])
]
