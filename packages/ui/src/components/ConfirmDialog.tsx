import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { useAction } from "../data/useAction.ts"
import { fill, words } from "../words.ts"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { TextField } from "./fields.tsx"
import { ProblemNotice } from "./ProblemNotice.tsx"

export interface ConfirmDialogProps {
  readonly title: string
  /** What will be lost. */
  readonly children: ComponentChildren
  /** The text of the button that does it, such as "Revoke key". */
  readonly confirmLabel: string
  /** If set, the person has to type this name first: for what destroys much. */
  readonly nameToType?: string | undefined
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

/** Asks before something that cannot be taken back. Stays open with the problem if it fails. */
export const ConfirmDialog = ({
  title,
  children,
  confirmLabel,
  nameToType,
  onConfirm,
  onClose
}: ConfirmDialogProps) => {
  const [typedName, setTypedName] = useState("")
  const confirm = useAction(onConfirm)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (await confirm.run()) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {children}
        {nameToType !== undefined && (
          <TextField
            label={fill(words.typeToConfirm, { name: nameToType })}
            value={typedName}
            onInput={setTypedName}
            autoFocus
            autoComplete="off"
          />
        )}
        {confirm.problem !== undefined && <ProblemNotice problem={confirm.problem} />}
        <div class="form-actions">
          <Button
            type="submit"
            kind="danger"
            isBusy={confirm.isRunning}
            disabled={nameToType !== undefined && typedName !== nameToType}
          >
            {confirmLabel}
          </Button>
          <Button onClick={onClose}>{words.cancel}</Button>
        </div>
      </form>
    </Dialog>
  )
}
