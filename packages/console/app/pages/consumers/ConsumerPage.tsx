import { useState } from "preact/hooks"
import { request } from "../../api/request.ts"
import type { ConsumerJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { showToast } from "../../components/toasts.tsx"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { goTo } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { ConsumerDetails } from "./ConsumerDetails.tsx"
import { ConsumerEvents } from "./ConsumerEvents.tsx"
import { ConsumerSubscriptions } from "./ConsumerSubscriptions.tsx"
import { EditConsumerDialog } from "./EditConsumerDialog.tsx"
import { KeysSection } from "./keys/KeysSection.tsx"
import { linkToBucket, linkToBuckets, toConsumerPath } from "./paths.ts"
import "../../styles/consumers.css"

/** One consumer: its fields, keys, subscriptions, usage and events. */
export const ConsumerPage = ({
  params: { account = "", bucket = "", consumer: name = "" }
}: {
  readonly params: PageParams
}) => {
  const params = { account, bucket, consumer: name }
  const path = toConsumerPath(params)
  const [dialog, setDialog] = useState<"edit" | "remove">()
  const close = (): void => setDialog(undefined)
  const consumer = useQuery(path, (signal) =>
    request<ConsumerJson>("GET", path, {
      query: { "include-managers": true, "include-manager-invites": true },
      signal
    })
  )
  return (
    <>
      <PageHeader
        title={name}
        parents={[
          { label: "Key buckets", link: linkToBuckets(account) },
          { label: `Consumers in ${bucket}`, link: linkToBucket(params) }
        ]}
      >
        {canWrite.value && consumer.data !== undefined && (
          <>
            <Button onClick={() => setDialog("edit")}>Edit</Button>
            <Button onClick={() => setDialog("remove")}>Remove</Button>
          </>
        )}
      </PageHeader>
      <QueryView query={consumer}>
        {(reply) => (
          <>
            <ConsumerDetails params={params} consumer={reply.value} />
            <KeysSection params={params} />
            <ConsumerSubscriptions account={account} customerKey={name} />
            <ConsumerEvents account={account} consumerId={reply.value.id} />
            {dialog === "edit" && (
              <EditConsumerDialog
                path={path}
                consumer={reply}
                onClose={close}
                onSaved={() => {
                  close()
                  showToast(`Saved ${name}`)
                  consumer.reload()
                }}
              />
            )}
          </>
        )}
      </QueryView>
      {dialog === "remove" && (
        <ConfirmDialog
          title={`Remove ${name}`}
          confirmLabel="Remove consumer"
          nameToType={name}
          onClose={close}
          onConfirm={async () => {
            await request("DELETE", path)
            showToast(`Removed ${name}`)
            goTo(linkToBucket(params))
          }}
        >
          <p>
            Its keys stop working at once, and its managers are removed with it. Its subscriptions stay. This cannot be
            undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
