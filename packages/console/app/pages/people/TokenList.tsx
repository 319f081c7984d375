import { request, toPath } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { SecretDialog } from "@tollgate/ui/components/SecretDialog.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useState } from "preact/hooks"
import type { TokenJson, TokenWithValueJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { useList } from "../../data/useList.ts"
import { may } from "../../session/session.ts"
import { CreateTokenDialog } from "./CreateTokenDialog.tsx"
import { describeGrant } from "./grants.ts"

/** Tokens that were created while the server runs, and how to revoke them. Those in its options are not known here. */
export const TokenList = ({ path }: { readonly path: string }) => {
  const tokens = useList<TokenJson>(path, {}, { offsetName: "tokens" })
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<TokenWithValueJson>()
  const [revoked, setRevoked] = useState<TokenJson>()
  const canChange = may("tokens:write")
  return (
    <Section
      title="Tokens"
      actions={
        canChange && (
          <Button isSmall onClick={() => setIsCreating(true)}>
            Create token
          </Button>
        )
      }
    >
      <PagedTable
        list={tokens}
        caption="Tokens of this account"
        getKey={({ id }) => id}
        empty={
          <p class="hint">
            No token was created in this account. Those in the options of the server are not listed here.
          </p>
        }
        columns={[
          { title: "For", render: ({ description }) => <span class="wide-cell">{description}</span> },
          { title: "Id", render: ({ id }) => <code>{id}</code> },
          { title: "May do", render: (token) => describeGrant(token) },
          { title: "Created", render: ({ createdOn }) => <Time value={createdOn} /> },
          {
            title: "Last used",
            render: ({ lastUsedOn }) => (lastUsedOn === undefined ? "never" : <Time value={lastUsedOn} />)
          },
          {
            title: "Expires",
            render: ({ expiresOn }) => (expiresOn === undefined ? "never" : <Time value={expiresOn} />)
          },
          ...(canChange
            ? [
                {
                  title: "Actions",
                  render: (token: TokenJson) => (
                    <Button
                      kind="destructive"
                      isSmall
                      label={`Revoke the token ${token.description}`}
                      onClick={() => setRevoked(token)}
                    >
                      Revoke
                    </Button>
                  )
                }
              ]
            : [])
        ]}
      />
      {isCreating && (
        <CreateTokenDialog
          path={path}
          onCreated={(token) => {
            setIsCreating(false)
            setCreated(token)
            tokens.reload()
          }}
          onClose={() => setIsCreating(false)}
        />
      )}
      {created !== undefined && (
        <SecretDialog
          title="The token was created"
          secrets={[{ label: created.description, value: created.token }]}
          onClose={() => setCreated(undefined)}
        >
          <p>Copy it now: it is never shown again.</p>
        </SecretDialog>
      )}
      {revoked !== undefined && (
        <ConfirmDialog
          title={`Revoke the token ${revoked.description}`}
          confirmLabel="Revoke token"
          onClose={() => setRevoked(undefined)}
          onConfirm={async () => {
            await request("DELETE", toPath(path, revoked.id))
            showToast(`Revoked the token ${revoked.description}`)
            tokens.reload()
          }}
        >
          <p>Every process refuses it within a second, and this cannot be undone.</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
