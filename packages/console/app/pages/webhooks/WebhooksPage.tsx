import { toPath } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useState } from "preact/hooks"
import type { WebhookJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import type { PageParams } from "../../routing/pages.ts"
import { linkTo } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { type CreatedWebhook, NewWebhookDialog } from "./NewWebhookDialog.tsx"
import { NotConfigured } from "./NotConfigured.tsx"
import { WebhookSecretDialog } from "./WebhookSecretDialog.tsx"
import { WebhookState } from "./WebhookState.tsx"
import "../../styles/activity.css"

/** The webhooks of an account: endpoints to which its events are sent. */
export const WebhooksPage = ({ params }: { readonly params: PageParams }) => {
  const account = params["account"] ?? ""
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<CreatedWebhook>()
  const path = toPath("/v1/accounts", account, "webhooks")
  const webhooks = useList<WebhookJson>(path)
  if (webhooks.problem?.status === 404) {
    return (
      <>
        <PageHeader title="Webhooks" />
        <NotConfigured />
      </>
    )
  }
  return (
    <>
      <PageHeader title="Webhooks">
        {canWrite.value && (
          <Button kind="primary" onClick={() => setIsCreating(true)}>
            New webhook
          </Button>
        )}
      </PageHeader>
      <PagedTable
        list={webhooks}
        caption="Webhooks"
        getKey={({ id }) => id}
        empty={
          <EmptyState title="There is no webhook yet">
            <p>
              A webhook sends the events of this account to an endpoint of yours, signed and with retries.
              {canWrite.value && " Create one with the button above."}
            </p>
          </EmptyState>
        }
        columns={[
          {
            title: "URL",
            render: ({ id, url }) => (
              <a class="wide-cell" href={linkTo(["accounts", account, "webhooks", id])}>
                {url}
              </a>
            )
          },
          { title: "State", render: (webhook) => <WebhookState webhook={webhook} /> },
          { title: "Events", render: ({ events }) => <code>{events.join(", ")}</code> },
          { title: "Description", render: ({ description }) => <span class="wide-cell">{description}</span> },
          { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> }
        ]}
      />
      {isCreating && (
        <NewWebhookDialog
          account={account}
          onCreated={(webhook) => {
            setIsCreating(false)
            setCreated(webhook)
            webhooks.reload()
          }}
          onClose={() => setIsCreating(false)}
        />
      )}
      {created !== undefined && (
        <WebhookSecretDialog
          title="The webhook was created"
          secret={created.secret}
          isRotated={false}
          onClose={() => setCreated(undefined)}
        />
      )}
    </>
  )
}
