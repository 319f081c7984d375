import { request, toPath } from "@tollgate/ui/api/request.ts"
import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useState } from "preact/hooks"
import type { SessionJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { useList } from "../../data/useList.ts"
import { caller, may } from "../../session/session.ts"
import { describeGrant } from "./grants.ts"

const getName = ({ id, name }: SessionJson): string => name ?? id

const hasEnded = ({ expiresOn }: SessionJson): boolean => Date.parse(expiresOn) <= Date.now()

const State = ({ session }: { readonly session: SessionJson }) => {
  if (hasEnded(session)) return <Badge>ended</Badge>
  return <Badge tone="good">{session.id === caller.value?.id ? "this one" : "open"}</Badge>
}

/** Sessions of people in the console, and how to end them. */
export const SessionList = ({ title, path }: { readonly title: string; readonly path: string }) => {
  const sessions = useList<SessionJson>(path, {}, { offsetName: title })
  const [dialog, setDialog] = useState<SessionJson | "all">()
  const canRevoke = may("tokens:write")
  return (
    <Section
      title={title}
      actions={
        canRevoke &&
        sessions.data !== undefined &&
        sessions.data.total > 0 && (
          <Button kind="destructive" isSmall label={`End all: ${title}`} onClick={() => setDialog("all")}>
            End all
          </Button>
        )
      }
    >
      <PagedTable
        list={sessions}
        caption={`${title}, oldest first`}
        getKey={({ id }) => id}
        empty={<p class="hint">Nobody is signed in by a link. Your server makes links with createConsoleLink.</p>}
        columns={[
          { title: "Who", render: (session) => <span class="wide-cell">{getName(session)}</span> },
          { title: "May do", render: (session) => describeGrant(session) },
          { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> },
          {
            title: "Last seen",
            render: ({ lastUsedOn }) => (lastUsedOn === undefined ? "never" : <Time value={lastUsedOn} />)
          },
          { title: "Ends", render: ({ expiresOn }) => <Time value={expiresOn} /> },
          { title: "State", render: (session) => <State session={session} /> },
          ...(canRevoke
            ? [
                {
                  title: "Actions",
                  render: (session: SessionJson) =>
                    hasEnded(session) ? null : (
                      <Button
                        kind="destructive"
                        isSmall
                        label={`End the session of ${getName(session)}`}
                        onClick={() => setDialog(session)}
                      >
                        End
                      </Button>
                    )
                }
              ]
            : [])
        ]}
      />
      {dialog !== undefined && (
        <ConfirmDialog
          title={dialog === "all" ? `End all: ${title}` : `End the session of ${getName(dialog)}`}
          confirmLabel={dialog === "all" ? "End all sessions" : "End session"}
          onClose={() => setDialog(undefined)}
          onConfirm={async () => {
            await request("DELETE", dialog === "all" ? path : toPath(path, dialog.id))
            showToast(dialog === "all" ? "Ended all sessions" : `Ended the session of ${getName(dialog)}`)
            sessions.reload()
          }}
        >
          <p>
            {dialog === "all"
              ? "Everybody in this list is signed out within a second, and links that were not used yet stop working."
              : "The console asks this person to sign in again, within a second."}
          </p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
