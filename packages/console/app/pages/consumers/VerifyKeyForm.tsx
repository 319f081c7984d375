import { request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useRef, useState } from "preact/hooks"
import type { VerificationJson } from "../../api/types.ts"
import { formatMetadata } from "../../format/metadata.ts"
import { describeReason } from "../refusals/reasons.ts"
import { type BucketParams, linkToConsumer, toBucketPath } from "./paths.ts"
import { TagList } from "./TagList.tsx"

/** Why a key is not valid, as far as the person may know. */
const NotValid = ({
  params,
  result: { refusal, keyId, consumerName }
}: {
  readonly params: BucketParams
  readonly result: Extract<VerificationJson, { readonly valid: false }>
}) => (
  <Notice kind="warning">
    {refusal === undefined ? (
      `Not valid: the key is unknown in ${params.bucket}, has expired, is disabled, or its consumer is.`
    ) : (
      <>
        <strong>Not valid: {describeReason(refusal)}</strong>
        <DefinitionList
          items={[
            ["Reason", <code key="reason">{refusal}</code>],
            [
              "Consumer",
              consumerName && <a href={linkToConsumer({ ...params, consumer: consumerName })}>{consumerName}</a>
            ],
            ["Key", keyId && <code>{keyId}</code>]
          ]}
        />
      </>
    )}
  </Notice>
)

const Result = ({ params, result }: { readonly params: BucketParams; readonly result: VerificationJson }) => {
  if (!result.valid) return <NotValid params={params} result={result} />
  const { consumer, keyId, expiresOn, scopes } = result
  const metadata = formatMetadata(consumer.metadata)
  return (
    <Notice kind="success">
      <strong>Valid</strong>
      <DefinitionList
        items={[
          [
            "Consumer",
            <a key="consumer" href={linkToConsumer({ ...params, consumer: consumer.name })}>
              {consumer.name}
            </a>
          ],
          ["Key", <code key="key">{keyId}</code>],
          ["Expires", expiresOn === undefined ? "never" : <Time value={expiresOn} />],
          ["Scopes", scopes === undefined ? "none" : scopes.join(", ")],
          [
            "Tags",
            Object.keys(consumer.tags).length === 0 ? undefined : <TagList params={params} tags={consumer.tags} />
          ],
          ["Metadata", metadata === "" ? undefined : <pre>{metadata}</pre>]
        ]}
      />
    </Notice>
  )
}

/** Tells whether a key is valid in this bucket, and whose it is. */
export const VerifyKeyForm = ({ params }: { readonly params: BucketParams }) => {
  const [key, setKey] = useState("")
  const [result, setResult] = useState<VerificationJson>()
  const currentKey = useRef("")
  currentKey.current = key.trim()
  const verify = useAction(async () => {
    const sentKey = key.trim()
    setResult(undefined)
    const reply = await request<VerificationJson>("POST", `${toBucketPath(params)}/$verify`, { body: { key: sentKey } })
    // The result of a key that is no longer in the field would seem to be that of the other.
    if (currentKey.current === sentKey) setResult(reply.value)
  })
  return (
    <Section title="Verify a key">
      <form
        class="form inline"
        onSubmit={(event) => {
          event.preventDefault()
          void verify.run()
        }}
      >
        <TextField
          label="Key value"
          type="password"
          value={key}
          onInput={(value) => {
            setKey(value)
            setResult(undefined)
          }}
          required
          autoComplete="off"
        />
        <Button type="submit" isBusy={verify.isRunning}>
          Verify
        </Button>
      </form>
      {verify.problem !== undefined && <ProblemNotice problem={verify.problem} />}
      {result !== undefined && <Result params={params} result={result} />}
    </Section>
  )
}
