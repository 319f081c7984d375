import { type Reply, request, toPath } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useState } from "preact/hooks"
import type { ApiKeyJson } from "../../../api/types.ts"
import { PagedTable } from "../../../components/PagedTable.tsx"
import { useList } from "../../../data/useList.ts"
import { may } from "../../../session/session.ts"
import { type ConsumerParams, toConsumerPath } from "../paths.ts"
import { KeyDialogs, type OpenDialog } from "./KeyDialogs.tsx"
import { makeKeyColumns } from "./keyColumns.tsx"
import { useKeyToggle } from "./useKeyToggle.ts"

/** The keys of a consumer, and everything that can be done with them. */
export const KeysSection = ({
  params,
  onChange
}: {
  readonly params: ConsumerParams
  /** Called when keys were created, rolled, changed or revoked. */
  readonly onChange: () => void
}) => {
  const path = `${toConsumerPath(params)}/keys`
  const [dialog, setDialog] = useState<OpenDialog>()
  const keys = useList<ApiKeyJson>(path, {}, { offsetName: "keys" })
  const toggle = useKeyToggle(path, keys.setData, onChange)
  const edit = useAction(async ({ id }: ApiKeyJson) => {
    const apiKey: Reply<ApiKeyJson> = await request("GET", toPath(path, id))
    setDialog({ name: "edit", apiKey })
  })
  const show = useAction(async ({ id }: ApiKeyJson) => {
    const { value } = await request<ApiKeyJson>("GET", toPath(path, id), { query: { "key-format": "visible" } })
    setDialog({ name: "values", keys: [value], isNew: false })
  })
  return (
    <Section
      title="Keys"
      actions={
        <>
          {may("keys:write") && (
            <Button isSmall onClick={() => setDialog({ name: "create" })}>
              Create key
            </Button>
          )}
          {may("keys:roll") && (
            <Button isSmall onClick={() => setDialog({ name: "roll" })}>
              Roll all keys
            </Button>
          )}
        </>
      }
    >
      {[toggle, edit, show].map(
        ({ problem }, index) => problem !== undefined && <ProblemNotice key={index} problem={problem} />
      )}
      <PagedTable
        list={keys}
        caption="Keys of this consumer"
        getKey={({ id }) => id}
        empty={
          <EmptyState title="No keys">
            <p>Create a key: without one, this consumer cannot call.</p>
          </EmptyState>
        }
        columns={makeKeyColumns({
          account: params.account,
          onToggle: (key) => void toggle.run(key),
          onRoll: (apiKey) => setDialog({ name: "roll", apiKey }),
          onEdit: (key) => void edit.run(key),
          onShow: (key) => void show.run(key),
          onRevoke: (apiKey) => setDialog({ name: "revoke", apiKey })
        })}
      />
      {may("keys:write") && (
        <details class="developer-tools">
          <summary>Developer tools</summary>
          <p class="hint">For keys that programs hand out, or that another system issued.</p>
          <div class="form-actions">
            <Button isSmall onClick={() => setDialog({ name: "createMany" })}>
              Create many
            </Button>
            <Button isSmall onClick={() => setDialog({ name: "import" })}>
              Import
            </Button>
          </div>
        </details>
      )}
      <KeyDialogs
        params={params}
        path={path}
        dialog={dialog}
        onOpen={setDialog}
        onClose={() => setDialog(undefined)}
        onChanged={() => {
          keys.reload()
          onChange()
        }}
      />
    </Section>
  )
}
