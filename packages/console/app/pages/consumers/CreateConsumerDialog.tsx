import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Checkbox, Select, TextArea, TextField } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import { isConsumerName } from "../../api/consumerName.ts"
import type { ConsumerJson } from "../../api/types.ts"
import { ConsumerFields, useConsumerForm } from "./ConsumerFields.tsx"
import { type ManagerKind, parseManagers } from "./managers.ts"
import { type BucketParams, toBucketPath } from "./paths.ts"

const managerKinds = [
  { value: "emails", label: "Manager (e-mail)" },
  { value: "subjects", label: "Users of your identity provider" }
]

const managerHints = {
  emails: "One e-mail address per line. Tollgate sends no e-mail.",
  subjects: "One user per line: the subject, then the e-mail address if you know it."
}

export interface CreateConsumerDialogProps {
  readonly params: BucketParams
  readonly onCreated: (consumer: ConsumerJson) => void
  readonly onClose: () => void
}

export const CreateConsumerDialog = ({ params, onCreated, onClose }: CreateConsumerDialogProps) => {
  const [name, setName] = useState("")
  const [nameError, setNameError] = useState<string>()
  const [managerKind, setManagerKind] = useState<ManagerKind>("emails")
  const [managerLines, setManagerLines] = useState("")
  const [managersError, setManagersError] = useState<string>()
  const [withApiKey, setWithApiKey] = useState(true)
  const form = useConsumerForm()
  const getIdempotencyKey = useIdempotencyKey()
  const create = useAction(async () => {
    const values = form.check()
    const managers = parseManagers(managerKind, managerLines)
    const isNamed = isConsumerName(name)
    setNameError(isNamed ? undefined : "Use up to 128 lower-case letters, digits and “-”.")
    setManagersError(managers.error)
    if (values === undefined || managers.error !== undefined || !isNamed) return
    const { description, customerKey, tags, metadata } = values
    const body = {
      name,
      ...(description === "" ? {} : { description }),
      ...(customerKey === "" ? {} : { customerKey }),
      ...(Object.keys(tags).length === 0 ? {} : { tags }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      ...(managers.value.length === 0 ? {} : { managers: managers.value })
    }
    const { value } = await request<ConsumerJson>("POST", `${toBucketPath(params)}/consumers`, {
      query: { "with-api-key": withApiKey },
      body,
      idempotencyKey: getIdempotencyKey({ body, withApiKey })
    })
    onCreated(value)
  })
  return (
    <FormDialog title="Create a consumer" submitLabel="Create consumer" action={create} onClose={onClose}>
      <TextField
        label="Name"
        hint="Lower-case letters, digits and “-”. It cannot be changed later."
        value={name}
        onInput={setName}
        error={nameError}
        autoFocus
        autoComplete="off"
      />
      <ConsumerFields form={form} />
      <Select
        label="Managers"
        value={managerKind}
        onChange={(kind) => setManagerKind(kind as ManagerKind)}
        options={managerKinds}
      />
      <TextArea
        label={managerKind === "emails" ? "E-mail addresses" : "Users"}
        hint={managerHints[managerKind]}
        rows={2}
        value={managerLines}
        onInput={setManagerLines}
        error={managersError}
      />
      <Checkbox label="Create a key" checked={withApiKey} onChange={setWithApiKey} />
    </FormDialog>
  )
}
