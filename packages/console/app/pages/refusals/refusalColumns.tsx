import type { Column } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { formatCount, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import type { RefusalJson } from "../../api/types.ts"
import { type BucketParams, linkToConsumer, linkToRefusals } from "../consumers/paths.ts"
import { describeReason } from "./reasons.ts"

/** The ids of some of the requests: the first at once, the others on demand. */
const RequestIds = ({
  ids: [first, ...others],
  params
}: {
  readonly ids: ReadonlyArray<string>
  readonly params: BucketParams
}) => {
  const toLink = (requestId: string) => (
    <a href={linkToRefusals(params, { requestId })}>
      <code>{requestId}</code>
    </a>
  )
  if (first === undefined) return <>–</>
  if (others.length === 0) return toLink(first)
  return (
    <details>
      <summary>
        <code>{first}</code> and {formatQuantity(others.length, "other")}
      </summary>
      <ul class="plain-list">
        {[first, ...others].map((id) => (
          <li key={id}>{toLink(id)}</li>
        ))}
      </ul>
    </details>
  )
}

const Reason = ({ refusal: { reason, limit, meter } }: { readonly refusal: RefusalJson }) => (
  <div class="wide-cell">
    <code>{reason}</code>
    <br />
    <span class="hint">
      {describeReason(reason)}
      {limit !== undefined && ` (limit ${limit})`}
      {meter !== undefined && ` (meter ${meter})`}
    </span>
  </div>
)

/** With a link to what was refused of the key, if it is known whose it is. */
const Key = ({
  refusal: { keyId, keyHint, consumerName },
  params: { consumer = consumerName, ...params }
}: {
  readonly refusal: RefusalJson
  readonly params: BucketParams & { readonly consumer?: string }
}) => {
  if (keyId === undefined)
    return keyHint === undefined ? (
      <>none</>
    ) : (
      <>
        unknown, <code title="A digest of the key, and its last characters">{keyHint}</code>
      </>
    )
  return consumer === undefined ? (
    <code>{keyId}</code>
  ) : (
    <a href={linkToConsumer({ ...params, consumer }, { keyId })}>
      <code class="short-id" title={keyId}>
        {keyId}
      </code>
    </a>
  )
}

/** The columns of refused requests. Those of a minute that are alike are one row. */
export const makeRefusalColumns = (
  params: BucketParams & { readonly consumer?: string },
  /** Whether all are of one consumer, whose name is then left out. */
  isOfOne = false
): ReadonlyArray<Column<RefusalJson>> => [
  { title: "When", render: (refusal) => <Time value={refusal.on} /> },
  { title: "Why", render: (refusal) => <Reason refusal={refusal} /> },
  { title: "Requests", align: "right" as const, render: (refusal) => formatCount(refusal.count) },
  ...(isOfOne
    ? []
    : [
        {
          title: "Consumer",
          render: ({ consumerName }: RefusalJson) =>
            consumerName === undefined ? (
              "–"
            ) : (
              <a href={linkToConsumer({ ...params, consumer: consumerName })}>{consumerName}</a>
            )
        }
      ]),
  { title: "Key", render: (refusal) => <Key refusal={refusal} params={params} /> },
  { title: "Route", render: ({ route }) => (route === undefined ? "–" : <code>{route}</code>) },
  { title: "From", render: ({ ip }) => ip ?? "–" },
  { title: "Request ids", render: (refusal) => <RequestIds ids={refusal.requestIds} params={params} /> }
]

export const refusalCaption = "Refused requests, newest first"

/** Two rows may be of the same time. */
export const getRefusalKey = ({ on }: RefusalJson, index: number): string => `${on} ${index}`
