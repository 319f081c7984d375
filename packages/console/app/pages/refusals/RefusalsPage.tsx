import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useFieldText } from "@tollgate/ui/components/useFieldText.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import type { RefusalJson, RefusalPageJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, setQuery } from "../../routing/router.ts"
import { linkToBucket, linkToBuckets, linkToRefusals, toBucketPath } from "../consumers/paths.ts"
import { OutcomePlot } from "./OutcomePlot.tsx"
import { loadOutcomes, outcomePeriods, parsePeriod } from "./outcomes.ts"
import { reasonOptions } from "./reasons.ts"
import { getRefusalKey, makeRefusalColumns, refusalCaption } from "./refusalColumns.tsx"

/** The filters are in the address, so that a link keeps them. */
const Filters = ({ reason, requestId }: { readonly reason: string; readonly requestId: string }) => {
  const [idInput, setIdInput] = useFieldText(requestId)
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          setQuery({ requestId: idInput.trim(), offset: undefined })
        }}
      >
        <TextField
          label="Request id"
          hint="Customers find it in the response that they got"
          type="search"
          value={idInput}
          onInput={setIdInput}
          autoComplete="off"
        />
        <Select
          label="Reason"
          value={reason}
          onChange={(reason) => setQuery({ reason, offset: undefined })}
          options={reasonOptions}
        />
        <Button type="submit">Find</Button>
        {(reason !== "" || requestId !== "") && (
          <Button onClick={() => setQuery({ reason: undefined, requestId: undefined, offset: undefined })}>
            Clear filters
          </Button>
        )}
      </form>
    </search>
  )
}

/** Why requests with keys of a key bucket were refused, and how many were. */
export const RefusalsPage = ({ params: { account = "", bucket = "" } }: { readonly params: PageParams }) => {
  const params = { account, bucket }
  const { reason = "", requestId = "", period: periodText } = address.value.query
  const period = parsePeriod(periodText)
  const path = `${toBucketPath(params)}/decisions`
  const refusals = useList<RefusalJson, RefusalPageJson>(path, { reason, requestId })
  const outcomes = useQuery(`outcomes ${path} ${period.value}`, (signal) =>
    loadOutcomes(params, period, signal).then((outcomes) => ({ outcomes }))
  )
  return (
    <>
      <PageHeader
        title={`Refused requests in ${bucket}`}
        parents={[
          { label: "APIs", link: linkToBuckets(account) },
          { label: `Consumers in ${bucket}`, link: linkToBucket(params) }
        ]}
      >
        <Button onClick={refusals.reload}>Refresh</Button>
      </PageHeader>
      <Filters reason={reason} requestId={requestId} />
      {refusals.problem?.status === 404 ? (
        <EmptyState title="This server keeps no log of decisions">
          <p>
            Add <code>decisions()</code> of <code>@tollgate/decisions</code> to its modules.
          </p>
        </EmptyState>
      ) : (
        <PagedTable
          list={refusals}
          caption={refusalCaption}
          columns={makeRefusalColumns(params)}
          getKey={getRefusalKey}
          empty={({ kept }) => (
            <EmptyState title="No refused request found">
              <p>
                Refusals appear within ten seconds. Those since <Time value={kept.since} /> are kept.
                {requestId !== "" && " Of many that are alike in one minute, the first and the last five ids are kept."}
              </p>
            </EmptyState>
          )}
          footer={({ kept }) => (
            <p class="hint">
              Refusals since <Time value={kept.since} /> are kept.
            </p>
          )}
        />
      )}
      <QueryView query={outcomes}>
        {({ outcomes }) =>
          outcomes !== undefined && (
            <Section
              title="Requests by outcome"
              actions={
                <Select
                  label="Period"
                  value={period.value}
                  onChange={(period) => setQuery({ period })}
                  options={outcomePeriods}
                />
              }
            >
              <OutcomePlot
                title={`Requests of the last ${period.label}`}
                outcomes={outcomes}
                linkToReason={(reason) => linkToRefusals(params, { reason, period: periodText })}
              />
            </Section>
          )
        }
      </QueryView>
    </>
  )
}
