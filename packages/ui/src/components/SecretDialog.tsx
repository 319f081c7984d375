import type { ComponentChildren } from "preact"
import { fill, words } from "../words.ts"
import { Button } from "./Button.tsx"
import { CopyButton } from "./CopyButton.tsx"
import { Dialog } from "./Dialog.tsx"

export interface SecretDialogProps {
  readonly title: string
  readonly secrets: ReadonlyArray<{ readonly label: string; readonly value: string }>
  readonly children?: ComponentChildren
  readonly onClose: () => void
}

/** Shows secrets, such as new keys, until the dialog is closed. */
export const SecretDialog = ({ title, secrets, children, onClose }: SecretDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    {children}
    <ul class="secrets">
      {secrets.map(({ label, value }) => (
        <li key={value}>
          <span>{label}</span>
          <code class="secret">{value}</code>
          <CopyButton text={value} label={fill(words.copyWhat, { what: label })} />
        </li>
      ))}
    </ul>
    <div class="form-actions">
      <Button kind="primary" onClick={onClose}>
        {words.done}
      </Button>
      {secrets.length > 1 && <CopyButton text={secrets.map(({ value }) => value).join("\n")} label={words.copyAll} />}
    </div>
  </Dialog>
)
