import { useState } from "preact/hooks"
import { get, toPath } from "../../api/request.ts"
import type { PageJson, WebhookJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { type CreatedWebhook, NewWebhookDialog } from "./NewWebhookDialog.tsx"
import { WebhookSecretDialog } from "./WebhookSecretDialog.tsx"
import { WebhookState } from "./WebhookState.tsx"
import "../../styles/activity.css"

const limit = 50

const WebhookTable = ({
  account,
  webhooks
}: {
  readonly account: string
  readonly webhooks: ReadonlyArray<WebhookJson>
}) => (
  <Table
    caption="Webhooks"
    rows={webhooks}
    getKey={({ id }) => id}
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
)

/** The webhooks of an account: endpoints to which its events are sent. */
export const WebhooksPage = ({ params }: { readonly params: PageParams }) => {
  const account = params["account"] ?? ""
  const offset = Number(address.value.query["offset"] ?? 0)
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<CreatedWebhook>()
  const path = toPath("/v1/accounts", account, "webhooks")
  const webhooks = useQuery(`${path} ${offset}`, (signal) =>
    get<PageJson<WebhookJson>>(path, { limit, offset }, signal)
  )
  return (
    <>
      <PageHeader title="Webhooks">
        {canWrite.value && (
          <Button kind="primary" onClick={() => setIsCreating(true)}>
            New webhook
          </Button>
        )}
      </PageHeader>
      <QueryView query={webhooks}>
        {({ data, total }) =>
          total === 0 ? (
            <EmptyState title="There is no webhook yet">
              <p>
                A webhook sends the events of this account to an endpoint of yours, signed and with retries.
                {canWrite.value && " Create one with the button above."}
              </p>
            </EmptyState>
          ) : (
            <>
              <WebhookTable account={account} webhooks={data} />
              <Pager
                offset={offset}
                limit={limit}
                total={total}
                shown={data.length}
                onChange={(offset) => setQuery({ offset: offset || undefined })}
              />
            </>
          )
        }
      </QueryView>
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
