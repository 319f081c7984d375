import { get, toPath } from "@tollgate/ui/api/request.ts"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { UsagePlot } from "@tollgate/ui/components/UsagePlot.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import type { UsageSeriesJson } from "../../api/types.ts"
import type { OutcomePeriod } from "../refusals/outcomes.ts"
import type { MeteringBucketCount } from "./inventory.ts"

/** All usage of a bucket is kept by days, so the shortest time is a week. */
export const getUsageDays = (period: OutcomePeriod): number => (period.step === "hour" ? 7 : period.steps)

const dayMs = 86_400_000

const BucketPlot = ({ bucket, days }: { readonly bucket: MeteringBucketCount; readonly days: number }) => {
  // The present day is the last.
  const usage = useQuery(`usage ${bucket.id} ${days}`, (signal) => {
    const from = new Date(Date.now() - (days - 1) * dayMs).toISOString()
    return get<UsageSeriesJson>(`${toPath("/v1/metering", bucket.id)}/usage`, { step: "day", from }, signal)
  })
  return (
    <QueryView query={usage}>
      {(usage) => (
        <UsagePlot
          title={`Usage in ${bucket.name}`}
          usage={usage}
          emptyText={`Nothing was used in the last ${days} days. Usage appears here as soon as a metered request is counted.`}
        />
      )}
    </QueryView>
  )
}

/** A plot for each of the first metering buckets. */
export const UsageOverview = ({
  buckets,
  period
}: {
  readonly buckets: ReadonlyArray<MeteringBucketCount>
  readonly period: OutcomePeriod
}) => (
  <>
    {buckets.map((bucket) => (
      <BucketPlot key={bucket.id} bucket={bucket} days={getUsageDays(period)} />
    ))}
  </>
)
