import { useState } from "preact/hooks"
import { get, type Reply, request, toPath } from "../../../api/request.ts"
import type { ApiKeyJson, PageJson } from "../../../api/types.ts"
import { Button } from "../../../components/Button.tsx"
import { EmptyState } from "../../../components/EmptyState.tsx"
import { Pager } from "../../../components/Pager.tsx"
import { ProblemNotice } from "../../../components/ProblemNotice.tsx"
import { QueryView } from "../../../components/QueryView.tsx"
import { Section } from "../../../components/Section.tsx"
import { useAction } from "../../../data/useAction.ts"
import { useFormerData } from "../../../data/useFormerData.ts"
import { useQuery } from "../../../data/useQuery.ts"
import { parseOffset } from "../../../routing/parseOffset.ts"
import { address, setQuery } from "../../../routing/router.ts"
import { canWrite } from "../../../session/session.ts"
import { type ConsumerParams, toConsumerPath } from "../paths.ts"
import { KeyDialogs, type OpenDialog } from "./KeyDialogs.tsx"
import { KeyTable } from "./KeyTable.tsx"
import { useKeyToggle } from "./useKeyToggle.ts"

const limit = 50

/** The keys of a consumer, and everything that can be done with them. */
export const KeysSection = ({ params }: { readonly params: ConsumerParams }) => {
  const path = `${toConsumerPath(params)}/keys`
  const offset = parseOffset(address.value.query["keys"])
  const [dialog, setDialog] = useState<OpenDialog>()
  const query = useQuery(`${path} ${offset}`, (signal) => get<PageJson<ApiKeyJson>>(path, { limit, offset }, signal))
  const keys = useFormerData(query)
  const toggle = useKeyToggle(path, query.setData)
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
        canWrite.value && (
          <>
            <Button isSmall onClick={() => setDialog({ name: "create" })}>
              Create key
            </Button>
            <Button isSmall onClick={() => setDialog({ name: "createMany" })}>
              Create many
            </Button>
            <Button isSmall onClick={() => setDialog({ name: "import" })}>
              Import
            </Button>
            <Button isSmall onClick={() => setDialog({ name: "roll" })}>
              Roll keys
            </Button>
          </>
        )
      }
    >
      {[toggle, edit, show].map(
        ({ problem }, index) => problem !== undefined && <ProblemNotice key={index} problem={problem} />
      )}
      <QueryView query={keys}>
        {({ data, total }) =>
          total === 0 ? (
            <EmptyState title="No keys">
              <p>Create a key, or import those that another system issued.</p>
            </EmptyState>
          ) : (
            <>
              {data.length === 0 && <p class="hint">This page is past the end of the list.</p>}
              <KeyTable
                account={params.account}
                keys={data}
                onToggle={(key) => void toggle.run(key)}
                onEdit={(key) => void edit.run(key)}
                onShow={(key) => void show.run(key)}
                onRevoke={(apiKey) => setDialog({ name: "revoke", apiKey })}
              />
              <Pager
                offset={offset}
                limit={limit}
                total={total}
                shown={data.length}
                onChange={(offset) => setQuery({ keys: offset || undefined })}
              />
            </>
          )
        }
      </QueryView>
      <KeyDialogs
        params={params}
        path={path}
        dialog={dialog}
        onOpen={setDialog}
        onClose={() => setDialog(undefined)}
        onChanged={keys.reload}
      />
    </Section>
  )
}
