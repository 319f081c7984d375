import { request, toPath } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { fill } from "@tollgate/ui/words.ts"
import { useState } from "preact/hooks"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { PortalKeyJson } from "../types.ts"
import { getKeyName } from "./keyStates.ts"

/** How long the old key goes on working, in seconds. */
const gracePeriods = [
  { value: "0", label: texts.rollNow },
  { value: "3600", label: texts.rollHour },
  { value: "86400", label: texts.rollDay },
  { value: "604800", label: texts.rollWeek },
  { value: "2592000", label: texts.rollMonth }
]

export interface RollKeyDialogProps {
  readonly apiKey: PortalKeyJson
  readonly onDone: (apiKey: PortalKeyJson) => void
  readonly onClose: () => void
}

export const RollKeyDialog = ({ apiKey, onDone, onClose }: RollKeyDialogProps) => {
  const [seconds, setSeconds] = useState("86400")
  const getIdempotencyKey = useIdempotencyKey()
  const roll = useAction(async () => {
    const body = { expiresIn: Number(seconds) }
    const path = `${toPath(toPortalPath("/keys"), apiKey.id)}/roll`
    onDone((await request<PortalKeyJson>("POST", path, { body, idempotencyKey: getIdempotencyKey(body) })).value)
  })
  return (
    <FormDialog
      title={fill(texts.rollWhat, { name: getKeyName(apiKey) })}
      submitLabel={texts.rollSubmit}
      action={roll}
      onClose={onClose}
    >
      <p>{texts.rollHint}</p>
      <Select label={texts.rollGrace} value={seconds} options={gracePeriods} onChange={setSeconds} />
    </FormDialog>
  )
}
