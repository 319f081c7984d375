import type { ComponentChildren } from "preact"
import type { Action } from "../data/useAction.ts"
import { words } from "../words.ts"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { ProblemNotice } from "./ProblemNotice.tsx"

export interface FormDialogProps {
  readonly title: string
  readonly submitLabel: string
  readonly action: Action<[]>
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A form in a dialog. It stays open with all input when saving fails; the action closes it when it has succeeded. */
export const FormDialog = ({ title, submitLabel, action, onClose, children }: FormDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void action.run()
      }}
    >
      {children}
      {action.problem !== undefined && <ProblemNotice problem={action.problem} />}
      <div class="form-actions">
        <Button type="submit" kind="primary" isBusy={action.isRunning}>
          {submitLabel}
        </Button>
        <Button onClick={onClose}>{words.cancel}</Button>
      </div>
    </form>
  </Dialog>
)
