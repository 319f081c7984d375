import { get, toPath } from "../../api/request.ts"
import type { UsageSeriesJson } from "../../api/types.ts"
import { QueryView } from "../../components/QueryView.tsx"
import { UsagePlot } from "../../components/UsagePlot.tsx"
import { useQuery } from "../../data/useQuery.ts"
import type { MeteringBucketCount } from "./inventory.ts"

const BucketPlot = ({ bucket }: { readonly bucket: MeteringBucketCount }) => {
  // Without a range the server returns 30 days, and the present one is the last.
  const usage = useQuery(`usage ${bucket.id}`, (signal) =>
    get<UsageSeriesJson>(`${toPath("/v1/metering", bucket.id)}/usage`, { step: "day" }, signal)
  )
  return (
    <QueryView query={usage}>
      {(usage) => (
        <UsagePlot
          title={`Usage in ${bucket.name}`}
          usage={usage}
          emptyText="Nothing was used in the last 30 days. Usage appears here as soon as a metered request is counted."
        />
      )}
    </QueryView>
  )
}

/** A plot for each of the first metering buckets. */
export const UsageOverview = ({ buckets }: { readonly buckets: ReadonlyArray<MeteringBucketCount> }) => (
  <>
    {buckets.map((bucket) => (
      <BucketPlot key={bucket.id} bucket={bucket} />
    ))}
  </>
)
