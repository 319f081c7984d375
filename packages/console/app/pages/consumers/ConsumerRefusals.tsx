import { Button } from "@tollgate/ui/components/Button.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import type { RefusalJson, RefusalPageJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { useList } from "../../data/useList.ts"
import { address, linkTo } from "../../routing/router.ts"
import { OutcomePlot } from "../refusals/OutcomePlot.tsx"
import { loadOutcomes, parsePeriod } from "../refusals/outcomes.ts"
import { getRefusalKey, makeRefusalColumns, refusalCaption } from "../refusals/refusalColumns.tsx"
import { WhyRefusedDialog } from "../refusals/WhyRefusedDialog.tsx"
import { type ConsumerParams, linkToConsumer, toConsumerPath } from "./paths.ts"

/** Requests of a consumer: why some were refused, and how many were allowed. Nothing if the server has no log of decisions. */
export const ConsumerRefusals = ({
  params,
  linkToUsage
}: {
  readonly params: ConsumerParams
  readonly linkToUsage: string
}) => {
  const { account, bucket, consumer } = params
  const [isAsking, setIsAsking] = useState(false)
  const { reason = "", keyId = "" } = address.value.query
  const path = `${toConsumerPath(params)}/decisions`
  const refusals = useList<RefusalJson, RefusalPageJson>(path, { reason, keyId }, { limit: 10, offsetName: "refusals" })
  const requests = useQuery(`outcomes ${path}`, async (signal) => ({
    outcomes: await loadOutcomes(params, parsePeriod("month"), signal, consumer)
  }))
  if (refusals.problem?.status === 404) return null
  const isFiltered = reason !== "" || keyId !== ""
  const link = (reason?: string): string => linkTo(["accounts", account, "consumers", bucket, consumer], { reason })
  return (
    <Section
      title="Requests"
      actions={
        <>
          <Button isSmall onClick={() => setIsAsking(true)}>
            Why was this refused?
          </Button>
          <Button
            isSmall
            label="Refresh requests"
            onClick={() => {
              requests.reload()
              refusals.reload()
            }}
          >
            Refresh
          </Button>
        </>
      }
    >
      <QueryView query={requests}>
        {({ outcomes }) =>
          outcomes !== undefined && (
            <OutcomePlot
              title="Requests of the last 30 days"
              outcomes={outcomes}
              linkToReason={link}
              linkToAllowed={linkToUsage}
            />
          )
        }
      </QueryView>
      {isFiltered && (
        <p class="hint">
          Only refusals {reason !== "" && <code>{reason}</code>}{" "}
          {keyId !== "" && (
            <>
              of the key <code>{keyId}</code>
            </>
          )}
          . <a href={linkToConsumer(params)}>Show all</a>
        </p>
      )}
      <PagedTable
        list={refusals}
        caption={refusalCaption}
        columns={makeRefusalColumns(params, true)}
        getKey={getRefusalKey}
        empty={({ kept }) => (
          <p class="hint">
            No request was refused{isFiltered && " for this"} since <Time value={kept.since} />.
          </p>
        )}
      />
      {isAsking && <WhyRefusedDialog params={params} onClose={() => setIsAsking(false)} />}
    </Section>
  )
}
