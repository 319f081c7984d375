import { useState } from "preact/hooks"
import { get } from "../../api/request.ts"
import type { UsageSeriesJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { Select } from "../../components/fields.tsx"
import { ProblemNotice } from "../../components/ProblemNotice.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { UsagePlot } from "../../components/UsagePlot.tsx"
import { downloadCsv } from "../../data/downloadCsv.ts"
import { useAction } from "../../data/useAction.ts"
import { useQuery } from "../../data/useQuery.ts"
import { useReloadOn } from "../../data/useReloadOn.ts"
import type { UsageStep } from "../../format/steps.ts"
import { address, setQuery } from "../../routing/router.ts"
import { keptHourDays, parseRange, toUsageQuery, usageRanges } from "./usageRange.ts"

export interface UsagePanelProps {
  /** The path of the usage in the API. */
  readonly path: string
  readonly steps: ReadonlyArray<UsageStep>
  /** The name of the CSV file, without its extension. */
  readonly fileName: string
  /** Another number loads the usage again. */
  readonly revision: number
}

/** Usage over time by meter, with a table behind the plot and a download. */
export const UsagePanel = ({ path, steps, fileName, revision }: UsagePanelProps) => {
  const [isTableOpen, setIsTableOpen] = useState(false)
  const range = parseRange(address.value.query, steps)
  const usage = useQuery(`usage ${path} ${range.days} ${range.step}`, (signal) =>
    get<UsageSeriesJson>(path, toUsageQuery(range, Date.now()), signal)
  )
  useReloadOn(usage, revision)
  const download = useAction(() => downloadCsv(path, toUsageQuery(range, Date.now()), `${fileName}-${range.step}.csv`))
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
