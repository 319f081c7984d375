import { request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useEffect, useState } from "preact/hooks"
import type { ConsumerJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import { ScrollTarget } from "../../components/ScrollTarget.tsx"
import { remember } from "../../layout/recentResults.ts"
import type { PageParams } from "../../routing/pages.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { may } from "../../session/session.ts"
import { RecentEvents } from "../events/RecentEvents.tsx"
import { AddNoteDialog } from "./AddNoteDialog.tsx"
import { ConsumerDetails } from "./ConsumerDetails.tsx"
import { ConsumerRefusals } from "./ConsumerRefusals.tsx"
import { ConsumerSubscriptions } from "./ConsumerSubscriptions.tsx"
import { EditConsumerDialog } from "./EditConsumerDialog.tsx"
import { KeysSection } from "./keys/KeysSection.tsx"
import { OpenPortalButton, openPortal } from "./OpenPortalButton.tsx"
import { linkToBucket, linkToBuckets, linkToConsumer, toConsumerPath, toEventFilter } from "./paths.ts"
import "../../styles/consumers.css"

/** One consumer: its fields, keys, subscriptions, usage and events. */
export const ConsumerPage = ({
  params: { account = "", bucket = "", consumer: name = "" }
}: {
  readonly params: PageParams
}) => {
  const params = { account, bucket, consumer: name }
  const path = toConsumerPath(params)
  const [dialog, setDialog] = useState<"edit" | "note" | "stop" | "remove">()
  const [revision, setRevision] = useState(0)
  const close = (): void => setDialog(undefined)
  const consumer = useQuery(path, (signal) =>
    request<ConsumerJson>("GET", path, {
      query: { "include-managers": true, "include-manager-invites": true },
      signal
    })
  )
  const isFound = consumer.data !== undefined
  useEffect(() => {
    if (isFound)
      remember(account, { kind: "consumer", label: name, hint: `in ${bucket}`, link: linkToConsumer(params) })
  }, [isFound])
  const change = (message: string): void => {
    showToast(message)
    consumer.reload()
    setRevision((revision) => revision + 1)
  }
  const setDisabled = async (disabled: boolean): Promise<void> => {
    await request("PATCH", path, { body: { disabled } })
    change(disabled ? `Stopped ${name}` : `${name} may call again`)
  }
  const portal = useAction(() => openPortal(path))
  const resume = useAction(() => setDisabled(false))
  return (
    <>
      <PageHeader
        title={name}
        parents={[
          { label: "APIs", link: linkToBuckets(account) },
          { label: `Consumers in ${bucket}`, link: linkToBucket(params) }
        ]}
      >
        {consumer.data !== undefined && !consumer.data.value.disabled && <OpenPortalButton action={portal} />}
        {consumer.data !== undefined && (
          <>
            {may("consumers:write") && (
              <>
                <Button onClick={() => setDialog("note")}>Add a note</Button>
                <Button onClick={() => setDialog("edit")}>Edit</Button>
              </>
            )}
            {!may("consumers:disable") ? null : consumer.data.value.disabled ? (
              <Button kind="primary" onClick={() => void resume.run()} isBusy={resume.isRunning}>
                Let it call again
              </Button>
            ) : (
              <Button kind="destructive" icon="stop" onClick={() => setDialog("stop")}>
                Stop
              </Button>
            )}
            {may("consumers:write") && (
              <Button kind="destructive" onClick={() => setDialog("remove")}>
                Remove
              </Button>
            )}
          </>
        )}
      </PageHeader>
      {resume.problem !== undefined && <ProblemNotice problem={resume.problem} />}
      {portal.problem !== undefined && <ProblemNotice problem={portal.problem} />}
      {consumer.problem?.status === 404 && consumer.data === undefined ? (
        <EmptyState title={`There is no consumer ${name}`}>
          <p>
            It was removed with its keys, or has another name.{" "}
            <a href={linkTo(["accounts", account, "events"], { type: "consumer.deleted" })}>Who removed consumers</a>
          </p>
        </EmptyState>
      ) : (
        <QueryView query={consumer}>
          {(reply) => (
            <>
              {reply.value.disabled && (
                <Notice kind="warning">This consumer is stopped: requests with any of its keys get 401.</Notice>
              )}
              <ConsumerDetails params={params} consumer={reply.value} />
              <KeysSection params={params} onChange={() => setRevision((revision) => revision + 1)} />
              {may("decisions:read") && (
                <ConsumerRefusals params={params} linkToUsage={linkToConsumer(params, { section: "usage" })} />
              )}
              <ScrollTarget name="usage">
                <ConsumerSubscriptions
                  account={account}
                  customerKey={reply.value.customerKey ?? name}
                  onChange={() => setRevision((revision) => revision + 1)}
                />
              </ScrollTarget>
              <Section
                title="Latest events"
                actions={
                  <>
                    <Button isSmall label="Refresh events" onClick={() => setRevision(revision + 1)}>
                      Refresh
                    </Button>
                    <a href={linkTo(["accounts", account, "events"], toEventFilter(params))}>
                      All of the consumer and its keys
                    </a>
                  </>
                }
              >
                <p class="hint">Of the consumer and its keys, and of its plan, usage and credit.</p>
                <RecentEvents
                  account={account}
                  filters={[toEventFilter(params), { customerKey: reply.value.customerKey ?? name }]}
                  revision={revision}
                />
              </Section>
              {dialog === "note" && (
                <AddNoteDialog
                  path={path}
                  consumer={reply}
                  onClose={close}
                  onSaved={() => {
                    close()
                    change(`Added a note to ${name}`)
                  }}
                />
              )}
              {dialog === "edit" && (
                <EditConsumerDialog
                  path={path}
                  consumer={reply}
                  onClose={close}
                  onSaved={() => {
                    close()
                    change(`Saved ${name}`)
                  }}
                />
              )}
            </>
          )}
        </QueryView>
      )}
      {dialog === "stop" && (
        <ConfirmDialog
          title={`Stop ${name}`}
          confirmLabel="Stop consumer"
          onClose={close}
          onConfirm={() => setDisabled(true)}
        >
          <p>
            Requests with any of its keys are refused at once, until you let it call again. Nothing is removed, and its
            subscriptions stay.
          </p>
        </ConfirmDialog>
      )}
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
