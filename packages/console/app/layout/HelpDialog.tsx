import { Button } from "@tollgate/ui/components/Button.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { Dialog } from "@tollgate/ui/components/Dialog.tsx"
import { sections } from "./shortcuts.ts"

export const HelpDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keyboard" onClose={onClose}>
    <DefinitionList
      items={[
        ["/", "Search"],
        ["?", "This help"],
        ["Esc", "Close a dialog"],
        ...sections.map(({ key, name }) => [`g ${key}`, name] as const)
      ]}
    />
    <p>
      The <a href="../v1/docs">API reference</a> has everything that the console does, for programs.
    </p>
    <div class="form-actions">
      <Button kind="primary" onClick={onClose}>
        Close
      </Button>
    </div>
  </Dialog>
)
