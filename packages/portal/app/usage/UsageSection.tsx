import { get } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { Select } from "@tollgate/ui/components/fields.tsx"
import { Plot } from "@tollgate/ui/components/Plot.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { downloadCsv } from "@tollgate/ui/data/downloadCsv.ts"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useFormerData } from "@tollgate/ui/data/useFormerData.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import { may, toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { PortalUsageJson } from "../types.ts"
import { KeyUsage } from "./KeyUsage.tsx"
import { getLabel, readMeters } from "./meters.ts"

const steps = [
  { value: "day", label: texts.usageDay },
  { value: "month", label: texts.usageMonth }
] as const

/** In the order in which the page shows what is left of them; then those that the plan no longer has. */
const sortMeters = (names: ReadonlyArray<string>, order: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...order.filter((name) => names.includes(name)),
  ...names.filter((name) => !order.includes(name))
]

/** What the customer has used, by day or month. */
export const UsageSection = () => {
  const [step, setStep] = useState<"day" | "month">("day")
  const path = toPortalPath("/usage")
  const usage = useFormerData(
    useQuery(`usage ${step}`, async (signal) => {
      const query = may("keys:read") ? { step, groupBy: "key" } : { step }
      const [{ data }, meters] = await Promise.all([get<PortalUsageJson>(path, query, signal), readMeters(signal)])
      const labels = new Map(meters.map((meter) => [meter.meter, getLabel(meter)]))
      return { step, data, labels }
    })
  )
  const download = useAction(() => downloadCsv(path, { step }, `${texts.usageFile}-${step}.csv`))
  return (
    <Section
      title={texts.usage}
      actions={
        <>
          <Select
            label={texts.usageStep}
            value={step}
            options={steps}
            onChange={(value) => setStep(value === "month" ? "month" : "day")}
          />
          <Button isBusy={download.isRunning} onClick={() => void download.run()}>
            {texts.usageDownload}
          </Button>
        </>
      }
    >
      {download.problem !== undefined && <ProblemNotice problem={download.problem} />}
      <QueryView query={usage}>
        {({ step, data, labels }) => {
          const meters = sortMeters(Object.keys(data[0]?.meters ?? {}), [...labels.keys()]).map((name) => ({
            name,
            label: labels.get(name) ?? name
          }))
          return (
            <>
              <Plot
                title={step === "day" ? texts.usageDays : texts.usageMonths}
                step={step}
                times={data.map(({ start }) => start)}
                series={meters.map(({ name, label }) => ({
                  name: label,
                  values: data.map(({ meters }) => meters[name] ?? 0)
                }))}
              />
              {may("keys:read") && <KeyUsage data={data} step={step} meters={meters} />}
            </>
          )
        }}
      </QueryView>
    </Section>
  )
}
