/** The fields of a consumer that can be created and edited: description, customer, tags and metadata. */

import { TextArea, TextField } from "@tollgate/ui/components/fields.tsx"
import { type Pairs, PairsField } from "@tollgate/ui/components/PairsField.tsx"
import { useState } from "preact/hooks"
import type { ConsumerJson } from "../../api/types.ts"
import { formatMetadata, type Metadata, parseMetadata } from "../../format/metadata.ts"
import { checkTags, type Tags, toPairs, toTags } from "./tags.ts"

interface Input {
  readonly description: string
  readonly customerKey: string
  readonly tags: Pairs
  readonly metadata: string
}

export interface ConsumerValues {
  readonly description: string
  readonly customerKey: string
  readonly tags: Tags
  readonly metadata: Metadata
}

export interface ConsumerForm {
  readonly input: Input
  readonly setInput: (change: Partial<Input>) => void
  readonly tagsError: string | undefined
  readonly metadataError: string | undefined
  /** Shows what is wrong, and returns the values if nothing is. */
  readonly check: () => ConsumerValues | undefined
  /** What was entered, also if it is wrong. */
  readonly values: ConsumerValues
  readonly fill: (consumer: ConsumerJson) => void
}

const toInput = ({ description = "", customerKey = "", tags, metadata }: Partial<ConsumerJson>): Input => ({
  description,
  customerKey,
  tags: toPairs(tags),
  metadata: formatMetadata(metadata)
})

export const useConsumerForm = (consumer: Partial<ConsumerJson> = {}): ConsumerForm => {
  const [input, setInput] = useState(() => toInput(consumer))
  const [areErrorsShown, setAreErrorsShown] = useState(false)
  const [former, setFormer] = useState(consumer)
  const tagsError = checkTags(input.tags)
  const metadata = parseMetadata(input.metadata)
  const values = {
    description: input.description,
    customerKey: input.customerKey,
    tags: toTags(input.tags, former.tags),
    metadata: metadata.value
  }
  return {
    input,
    setInput: (change) => setInput((input) => ({ ...input, ...change })),
    tagsError: areErrorsShown ? tagsError : undefined,
    metadataError: areErrorsShown ? metadata.error : undefined,
    check: () => {
      setAreErrorsShown(true)
      return tagsError === undefined && metadata.error === undefined ? values : undefined
    },
    values,
    fill: (consumer) => {
      setFormer(consumer)
      setInput(toInput(consumer))
    }
  }
}

export const ConsumerFields = ({ form }: { readonly form: ConsumerForm }) => (
  <>
    <TextArea
      label="Description"
      rows={2}
      value={form.input.description}
      onInput={(description) => form.setInput({ description })}
    />
    <TextField
      label="Customer"
      hint="The customerKey whose subscriptions count its requests. Without one, it is the name of the consumer."
      value={form.input.customerKey}
      onInput={(customerKey) => form.setInput({ customerKey })}
      autoComplete="off"
    />
    <PairsField label="Tags" addLabel="Add tag" pairs={form.input.tags} onChange={(tags) => form.setInput({ tags })} />
    {form.tagsError !== undefined && (
      <p class="field-error" role="alert">
        {form.tagsError}
      </p>
    )}
    <TextArea
      label="Metadata"
      hint="A JSON object of at most 64 KiB. Verification returns it with the consumer."
      value={form.input.metadata}
      onInput={(metadata) => form.setInput({ metadata })}
      error={form.metadataError}
      placeholder="{ }"
    />
  </>
)
