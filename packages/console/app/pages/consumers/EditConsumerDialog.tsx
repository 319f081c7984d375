import { type Reply, request } from "../../api/request.ts"
import type { ConsumerJson } from "../../api/types.ts"
import { type ConflictField, ConflictNotice } from "../../components/ConflictNotice.tsx"
import { FormDialog } from "../../components/FormDialog.tsx"
import { useVersionedSave } from "../../data/useVersionedSave.ts"
import { ConsumerFields, type ConsumerValues, useConsumerForm } from "./ConsumerFields.tsx"
import { formatMetadata } from "./metadata.ts"
import { formatTags } from "./tags.ts"

export interface EditConsumerDialogProps {
  readonly path: string
  readonly consumer: Reply<ConsumerJson>
  readonly onSaved: () => void
  readonly onClose: () => void
}

const findDifferences = (mine: ConsumerValues, theirs: ConsumerJson): ReadonlyArray<ConflictField> =>
  [
    { label: "Description", mine: mine.description, theirs: theirs.description ?? "" },
    { label: "Tags", mine: formatTags(mine.tags), theirs: formatTags(theirs.tags) },
    { label: "Metadata", mine: formatMetadata(mine.metadata), theirs: formatMetadata(theirs.metadata) }
  ].filter(({ mine, theirs }) => mine !== theirs)

/** Edits what can be changed in a consumer. */
export const EditConsumerDialog = ({ path, consumer, onSaved, onClose }: EditConsumerDialogProps) => {
  const form = useConsumerForm(consumer.value)
  const { action, theirs, keepMine, takeTheirs } = useVersionedSave({
    version: consumer.version,
    read: () => request<ConsumerJson>("GET", path),
    save: async (version) => {
      const values = form.check()
      if (values === undefined) return
      const { description, tags, metadata } = values
      await request("PATCH", path, { body: { description: description || null, tags, metadata }, version })
      onSaved()
    }
  })
  return (
    <FormDialog title={`Edit ${consumer.value.name}`} submitLabel="Save" action={action} onClose={onClose}>
      <ConsumerFields form={form} />
      {theirs !== undefined && (
        <ConflictNotice
          fields={findDifferences(form.values, theirs)}
          onKeepMine={keepMine}
          onTakeTheirs={() => {
            form.fill(theirs)
            takeTheirs()
          }}
        />
      )}
    </FormDialog>
  )
}
