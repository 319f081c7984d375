import { get } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { Select } from "@tollgate/ui/components/fields.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { UsagePlot } from "@tollgate/ui/components/UsagePlot.tsx"
import { downloadCsv } from "@tollgate/ui/data/downloadCsv.ts"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useReloadOn } from "@tollgate/ui/data/useReloadOn.ts"
import type { UsageStep } from "@tollgate/ui/format/steps.ts"
import { useState } from "preact/hooks"
import type { UsageSeriesJson } from "../../api/types.ts"
import { address, setQuery } from "../../routing/router.ts"
import { keptHourDays, parseRange, toUsageQuery, usageRanges } from "./usageRange.ts"

export interface UsagePanelProps {
  /** The path of the usage in the API. */
  readonly path: string
  readonly steps: ReadonlyArray<UsageStep>
  /** The name of the CSV file, without its extension. */
  readonly fileName: string
  /** The meters to choose from in the step `period`, if some have periods of their own: one plot has those of one meter. */
  readonly periodMeters?: ReadonlyArray<string>
  /** Another number loads the usage again. */
  readonly revision: number
}

/** Usage over time by meter, with a table behind the plot and a download. */
export const UsagePanel = ({ path, steps, fileName, periodMeters = [], revision }: UsagePanelProps) => {
  const [isTableOpen, setIsTableOpen] = useState(false)
  const range = parseRange(address.value.query, steps)
  const chosen = address.value.query["meter"] ?? ""
  const meter = range.step === "period" ? (periodMeters.find((name) => name === chosen) ?? periodMeters[0]) : undefined
  const getUsageQuery = () => ({ ...toUsageQuery(range, Date.now()), ...(meter === undefined ? {} : { meter }) })
  const usage = useQuery(`usage ${path} ${range.days} ${range.step} ${meter}`, (signal) =>
    get<UsageSeriesJson>(path, getUsageQuery(), signal)
  )
  useReloadOn(usage, revision)
  const download = useAction(() => downloadCsv(path, getUsageQuery(), `${fileName}-${range.step}.csv`))
  const rangeLabel = usageRanges.find(({ value }) => Number(value) === range.days)?.label ?? ""
  return (
    <>
      <div class="usage-tools">
        <Select
          label="Range"
          value={String(range.days)}
          options={usageRanges}
          onChange={(range) => setQuery({ range })}
        />
        {steps.length > 1 && (
          <Select
            label="Step"
            value={range.step}
            options={steps.map((step) => ({ value: step, label: step }))}
            onChange={(step) => setQuery({ step })}
          />
        )}
        {meter !== undefined && (
          <Select
            label="Meter"
            value={meter}
            options={periodMeters.map((name) => ({ value: name, label: name }))}
            onChange={(meter) => setQuery({ meter })}
          />
        )}
        <Button onClick={() => void download.run()} isBusy={download.isRunning}>
          Download CSV
        </Button>
      </div>
      {download.problem !== undefined && <ProblemNotice problem={download.problem} />}
      {range.step === "hour" && range.days > keptHourDays && (
        <p class="hint">Hours are kept for {keptHourDays} days. Choose the step day to see earlier usage.</p>
      )}
      <QueryView query={usage}>
        {(usage) => (
          <UsagePlot
            title={`Usage of the last ${rangeLabel}, by ${range.step}`}
            usage={usage}
            isTableOpen={isTableOpen}
            onTableToggle={setIsTableOpen}
          />
        )}
      </QueryView>
    </>
  )
}
