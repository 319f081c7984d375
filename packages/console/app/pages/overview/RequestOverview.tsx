import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { linkTo } from "../../routing/router.ts"
import { linkToRefusals } from "../consumers/paths.ts"
import { OutcomePlot } from "../refusals/OutcomePlot.tsx"
import { loadOutcomes, type OutcomePeriod } from "../refusals/outcomes.ts"
import type { KeyBucketCount } from "./inventory.ts"

/** Requests by outcome in each of the first key buckets. Nothing if the server has no log of decisions. */
export const RequestOverview = ({
  account,
  buckets,
  period
}: {
  readonly account: string
  readonly buckets: ReadonlyArray<KeyBucketCount>
  readonly period: OutcomePeriod
}) => {
  const requests = useQuery(`outcomes ${account} ${period.value}`, async (signal) =>
    (
      await Promise.all(
        buckets.map(async ({ name }) => ({
          name,
          outcomes: await loadOutcomes({ account, bucket: name }, period, signal)
        }))
      )
    ).flatMap(({ name, outcomes }) => (outcomes === undefined ? [] : [{ name, outcomes }]))
  )
  if (requests.data?.length === 0) return null
  return (
    <Section title="Requests">
      <QueryView query={requests}>
        {(requests) =>
          requests.map(({ name, outcomes }) => (
            <OutcomePlot
              key={name}
              title={`Requests in ${name}, last ${period.label}`}
              outcomes={outcomes}
              linkToAllowed={linkTo(["accounts", account, "consumers", name], { sort: "-seen" })}
              linkToReason={(reason) => linkToRefusals({ account, bucket: name }, { reason })}
            />
          ))
        }
      </QueryView>
    </Section>
  )
}
