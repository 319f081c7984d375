import type { Reply } from "@tollgate/ui/api/request.ts"
import { type ConflictField, ConflictNotice } from "@tollgate/ui/components/ConflictNotice.tsx"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useVersionedEdit } from "@tollgate/ui/data/useVersionedEdit.ts"
import type { ConsumerJson } from "../../api/types.ts"
import { formatMetadata } from "../../format/metadata.ts"
import { ConsumerFields, type ConsumerValues, useConsumerForm } from "./ConsumerFields.tsx"
import { formatTags } from "./tags.ts"

export interface EditConsumerDialogProps {
  readonly path: string
  readonly consumer: Reply<ConsumerJson>
  readonly onSaved: () => void
  readonly onClose: () => void
}

const compare = (mine: ConsumerValues, theirs: ConsumerJson): ReadonlyArray<ConflictField> => [
  { label: "Description", mine: mine.description, theirs: theirs.description ?? "" },
  { label: "Customer", mine: mine.customerKey, theirs: theirs.customerKey ?? "" },
  { label: "Tags", mine: formatTags(mine.tags), theirs: formatTags(theirs.tags) },
  { label: "Metadata", mine: formatMetadata(mine.metadata), theirs: formatMetadata(theirs.metadata) }
]

/** Edits what can be changed in a consumer. */
export const EditConsumerDialog = ({ path, consumer, onSaved, onClose }: EditConsumerDialogProps) => {
  const form = useConsumerForm(consumer.value)
  const { theirs, save, resolve } = useVersionedEdit(path, consumer)
  const action = useAction(async () => {
    const values = form.check()
    if (values === undefined) return
    const { description, customerKey, tags, metadata } = values
    const texts = { description: description || null, customerKey: customerKey || null }
    if (await save({ ...texts, tags, metadata })) onSaved()
  })
  return (
    <FormDialog title={`Edit ${consumer.value.name}`} submitLabel="Save" action={action} onClose={onClose}>
      <ConsumerFields form={form} />
      {theirs !== undefined && (
        <ConflictNotice
          fields={compare(form.values, theirs)}
          onKeepMine={() => void action.run()}
          onTakeTheirs={() => {
            form.fill(theirs)
            resolve()
          }}
        />
      )}
    </FormDialog>
  )
}
