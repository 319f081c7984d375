import { get } from "@tollgate/ui/api/request.ts"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useState } from "preact/hooks"
import type { RefusalJson, RefusalPageJson } from "../../api/types.ts"
import { type BucketParams, linkToConsumer, toBucketPath } from "../consumers/paths.ts"
import { describeReason, describeRemedy } from "./reasons.ts"

/** Why a request was refused, and what helps. */
const Answer = ({ params, refusal }: { readonly params: BucketParams; readonly refusal: RefusalJson }) => {
  const { on, reason, consumerName, keyId, meter, limit } = refusal
  return (
    <Notice kind="warning">
      <strong>Refused: {describeReason(reason)}</strong>
      <p>{describeRemedy(reason)}</p>
      <DefinitionList
        items={[
          ["Reason", <code key="reason">{reason}</code>],
          ["When", <Time key="on" value={on} />],
          [
            "Consumer",
            consumerName && <a href={linkToConsumer({ ...params, consumer: consumerName })}>{consumerName}</a>
          ],
          ["Key", keyId && <code>{keyId}</code>],
          ["Meter", meter],
          ["Limit", limit]
        ]}
      />
    </Notice>
  )
}

/** Asks for the id of a request, which the customer got with the response, and tells why the request was refused. */
export const WhyRefusedDialog = ({
  params,
  onClose
}: {
  readonly params: BucketParams
  readonly onClose: () => void
}) => {
  const [requestId, setRequestId] = useState("")
  const [found, setFound] = useState<{ readonly refusal: RefusalJson | undefined }>()
  const find = useAction(async () => {
    setFound(undefined)
    const query = { requestId: requestId.trim(), limit: 1 }
    const { data } = await get<RefusalPageJson>(`${toBucketPath(params)}/decisions`, query)
    setFound({ refusal: data[0] })
  })
  return (
    <FormDialog title="Why was this refused?" submitLabel="Find" action={find} onClose={onClose}>
      <TextField
        label="Request id"
        hint="The customer has it: it is the instance of the error, and the header X-Request-Id."
        value={requestId}
        onInput={(value) => {
          setRequestId(value)
          setFound(undefined)
        }}
        required
        autoFocus
        autoComplete="off"
      />
      <div role="status">
        {found !== undefined &&
          (found.refusal === undefined ? (
            <Notice>
              No refused request with this id is kept. It was allowed, is older than 7 days, or was one of many alike in
              a minute, of which the first and the last five ids are kept.
            </Notice>
          ) : (
            <Answer params={params} refusal={found.refusal} />
          ))}
      </div>
    </FormDialog>
  )
}
