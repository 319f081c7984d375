import { Button } from "@tollgate/ui/components/Button.tsx"
import { CodeBlock } from "@tollgate/ui/components/CodeBlock.tsx"
import { CopyButton } from "@tollgate/ui/components/CopyButton.tsx"
import { Dialog } from "@tollgate/ui/components/Dialog.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { useLeaveWarning } from "@tollgate/ui/data/useLeaveWarning.ts"
import { fill, words } from "@tollgate/ui/words.ts"
import { toCommand } from "../call/CallSection.tsx"
import { texts } from "../texts/texts.ts"
import type { PortalKeyJson } from "../types.ts"
import { getKeyName } from "./keyStates.ts"

/** Shows a new key, once. */
export const NewKeyDialog = ({ apiKey, onClose }: { readonly apiKey: PortalKeyJson; readonly onClose: () => void }) => {
  const { key = "" } = apiKey
  useLeaveWarning(true)
  return (
    <Dialog title={texts.newKeyTitle} onClose={onClose}>
      <Notice kind="warning">{texts.newKeyHint}</Notice>
      <p class="secrets">
        <code class="secret">{key}</code>
        <CopyButton text={key} label={fill(words.copyWhat, { what: getKeyName(apiKey) })} />
      </p>
      <p>{texts.newKeyTry}</p>
      <CodeBlock label={texts.callLabel} text={toCommand(key)} />
      <div class="form-actions">
        <Button kind="primary" onClick={onClose}>
          {words.done}
        </Button>
      </div>
    </Dialog>
  )
}
