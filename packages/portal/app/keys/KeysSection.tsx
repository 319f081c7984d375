import { readAllPages } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { fill } from "@tollgate/ui/words.ts"
import { useState } from "preact/hooks"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { PortalKeyJson } from "../types.ts"
import { CreateKeyDialog } from "./CreateKeyDialog.tsx"
import { KeyRow } from "./KeyRow.tsx"
import { hasExpired } from "./keyStates.ts"
import { NewKeyDialog } from "./NewKeyDialog.tsx"
import { RenameKeyDialog } from "./RenameKeyDialog.tsx"
import { RevokeKeyDialog } from "./RevokeKeyDialog.tsx"
import { RollKeyDialog } from "./RollKeyDialog.tsx"

type OpenDialog =
  | { readonly name: "create" }
  | { readonly name: "rename" | "roll" | "revoke" | "new"; readonly apiKey: PortalKeyJson }

export interface KeysSectionProps {
  readonly maxKeys: number
  readonly canWrite: boolean
}

/** The keys of the customer. */
export const KeysSection = ({ maxKeys, canWrite }: KeysSectionProps) => {
  const keys = useQuery("keys", (signal) => readAllPages<PortalKeyJson>(toPortalPath("/keys"), signal))
  const [dialog, setDialog] = useState<OpenDialog>()
  const isFull = (keys.data ?? []).filter((key) => !hasExpired(key)).length >= maxKeys
  const close = (): void => setDialog(undefined)
  const finish = (): void => {
    close()
    keys.reload()
  }
  const showNew = (apiKey: PortalKeyJson): void => {
    setDialog({ name: "new", apiKey })
    keys.reload()
  }
  return (
    <Section
      title={texts.keys}
      actions={
        canWrite && (
          <Button kind="primary" disabled={isFull} onClick={() => setDialog({ name: "create" })}>
            {texts.createKey}
          </Button>
        )
      }
    >
      <p class="hint">{canWrite && isFull ? fill(texts.keyLimit, { count: formatCount(maxKeys) }) : texts.keysHint}</p>
      <QueryView query={keys}>
        {(data) =>
          data.length === 0 ? (
            <EmptyState title={texts.keysEmpty}>{canWrite && <p>{texts.keysEmptyHint}</p>}</EmptyState>
          ) : (
            <ul class="rows">
              {data.map((apiKey) => (
                <KeyRow
                  key={apiKey.id}
                  apiKey={apiKey}
                  canWrite={canWrite}
                  onOpen={(name) => setDialog({ name, apiKey })}
                />
              ))}
            </ul>
          )
        }
      </QueryView>
      {dialog?.name === "create" && <CreateKeyDialog onDone={showNew} onClose={close} />}
      {dialog?.name === "new" && <NewKeyDialog apiKey={dialog.apiKey} onClose={close} />}
      {dialog?.name === "rename" && <RenameKeyDialog apiKey={dialog.apiKey} onDone={finish} onClose={close} />}
      {dialog?.name === "roll" && <RollKeyDialog apiKey={dialog.apiKey} onDone={showNew} onClose={close} />}
      {dialog?.name === "revoke" && <RevokeKeyDialog apiKey={dialog.apiKey} onDone={finish} onClose={close} />}
    </Section>
  )
}
