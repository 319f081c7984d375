import { get, toPath } from "@tollgate/ui/api/request.ts"
import { Button, LinkButton } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import { useState } from "preact/hooks"
import type { EventJson, PageJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"
import { EventDialog } from "./EventDialog.tsx"
import { EventFilters } from "./EventFilters.tsx"
import { EventTable } from "./EventTable.tsx"
import { useNewerEvents } from "./useNewerEvents.ts"
import "../../styles/activity.css"

const limit = 50

/** The event log of an account: who changed what, and when. New events wait for a button, so that nothing moves. */
export const EventsPage = ({ params }: { readonly params: PageParams }) => {
  const account = params["account"] ?? ""
  const {
    type = "",
    subject = "",
    before = "",
    keyBucketName = "",
    consumerName = "",
    customerKey = ""
  } = address.value.query
  const filters = { type, subject, keyBucketName, consumerName, customerKey }
  const [shown, setShown] = useState<EventJson>()
  const path = toPath("/v1/accounts", account, "events")
  const events = useQuery(JSON.stringify([path, filters, before]), (signal) =>
    get<PageJson<EventJson>>(path, { ...filters, before, limit }, signal)
  )
  const isNewest = before === ""
  const hasNewer = useNewerEvents(path, filters, events.data?.data[0]?.id, isNewest && !events.isLoading)
  const isUnfiltered = isNewest && Object.values(filters).every((value) => value === "")
  const segments = ["accounts", account, "events"]
  return (
    <>
      <PageHeader title="Events">
        {isNewest ? (
          <Button kind={hasNewer ? "primary" : "plain"} onClick={events.reload}>
            {hasNewer ? "Show newer events" : "Refresh"}
          </Button>
        ) : (
          <LinkButton href={linkTo(segments, filters)}>Newest events</LinkButton>
        )}
      </PageHeader>
      <span class="visually-hidden" role="status">
        {hasNewer && "There are newer events."}
      </span>
      <EventFilters type={type} subject={subject} />
      {consumerName + customerKey !== "" && (
        <p class="hint">
          Only those of {consumerName === "" ? `the customer ${customerKey}` : `${consumerName} and its keys`}.{" "}
          <a href={linkTo(segments, { type, subject })}>Show all</a>
        </p>
      )}
      <QueryView query={events}>
        {({ data, total }) =>
          data.length === 0 ? (
            <EmptyState title={isUnfiltered ? "There is no event yet" : "No event found"}>
              <p>
                {isUnfiltered
                  ? "Every change of this account is listed here: create a consumer, and its event appears within a second."
                  : "No event in the log fits. Events are kept for a limited time, 90 days by default."}
              </p>
            </EmptyState>
          ) : (
            <>
              <EventTable events={data} onShow={setShown} />
              <nav class="pager" aria-label="Pages">
                <span>
                  {data.length < total && `${formatCount(data.length)} of `}
                  {formatQuantity(total, isNewest ? "event" : "older event")}
                </span>
                {data.length < total && (
                  <Button isSmall onClick={() => setQuery({ before: data.at(-1)?.id })}>
                    Older events
                  </Button>
                )}
              </nav>
            </>
          )
        }
      </QueryView>
      {shown !== undefined && <EventDialog event={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}
