import { request, toPath } from "@tollgate/ui/api/request.ts"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import type { DeliveryJson, WebhookJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import type { PageParams } from "../../routing/pages.ts"
import { linkTo } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { Deliveries } from "./Deliveries.tsx"
import { useToggleWebhook } from "./useToggleWebhook.ts"
import { WebhookActions } from "./WebhookActions.tsx"
import { type WebhookDialog, WebhookDialogs } from "./WebhookDialogs.tsx"
import { WebhookState } from "./WebhookState.tsx"
import "../../styles/activity.css"

/** One webhook: what it sends where, and what was sent. */
export const WebhookPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", webhook: id = "" } = params
  const [dialog, setDialog] = useState<WebhookDialog>()
  const path = toPath("/v1/accounts", account, "webhooks", id)
  const webhook = useQuery(path, (signal) => request<WebhookJson>("GET", path, { signal }))
  const deliveries = useList<DeliveryJson>(`${path}/deliveries`, {}, { limit: 20 })
  const toggle = useToggleWebhook(path, webhook)
  const sendTest = useAction(async () => {
    await request("POST", `${path}/test`)
    showToast("A test event is being sent")
    deliveries.reload()
  })
  const problem = toggle.problem ?? sendTest.problem
  const value = webhook.data?.value
  return (
    <>
      <PageHeader title="Webhook" parents={[{ label: "Webhooks", link: linkTo(["accounts", account, "webhooks"]) }]}>
        {canWrite.value && value !== undefined && (
          <WebhookActions
            webhook={value}
            isSending={sendTest.isRunning}
            onTest={() => void sendTest.run()}
            onEdit={() => setDialog("edit")}
            onToggle={() => void toggle.run()}
            onRotate={() => setDialog("rotate")}
            onRemove={() => setDialog("remove")}
          />
        )}
      </PageHeader>
      {problem !== undefined && <ProblemNotice problem={problem} />}
      <QueryView query={webhook}>
        {({ value }) => (
          <>
            <DefinitionList
              items={[
                ["URL", <code key="url">{value.url}</code>],
                ["State", <WebhookState key="state" webhook={value} />],
                ["Events", <code key="events">{value.events.join(", ")}</code>],
                ["Description", value.description],
                ["Id", <code key="id">{value.id}</code>],
                ["Created", <Time key="created" value={value.createdOn} />],
                ["Changed", <Time key="changed" value={value.updatedOn} />],
                [
                  "Log",
                  <a key="log" href={linkTo(["accounts", account, "events"], { subject: value.id })}>
                    Events of this webhook
                  </a>
                ]
              ]}
            />
            {value.state === "disabled" && <p class="hint">Nothing is sent while it is disabled.</p>}
            <Deliveries webhookPath={path} deliveries={deliveries} isEnabled={value.state === "enabled"} />
          </>
        )}
      </QueryView>
      {webhook.data !== undefined && (
        <WebhookDialogs
          account={account}
          path={path}
          webhook={webhook.data}
          dialog={dialog}
          onChanged={webhook.reload}
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  )
}
