import { Button } from "@tollgate/ui/components/Button.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { downloadCsv } from "@tollgate/ui/data/downloadCsv.ts"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { PortalUsageJson } from "../types.ts"

interface KeyUsageProps {
  readonly data: PortalUsageJson["data"]
  readonly step: "day" | "month"
  /** The meters that the table has, and what each is called. */
  readonly meters: ReadonlyArray<{ readonly name: string; readonly label: string }>
}

interface Row {
  readonly keyId: string
  readonly name: string
  readonly used: Map<string, number>
}

const toRows = (data: PortalUsageJson["data"]): ReadonlyArray<Row> => {
  const rows = new Map<string, Row>()
  const add = (keyId: string, name: string, amounts: Readonly<Record<string, number>>): void => {
    const row = rows.get(keyId) ?? { keyId, name, used: new Map() }
    for (const [meter, amount] of Object.entries(amounts)) row.used.set(meter, (row.used.get(meter) ?? 0) + amount)
    rows.set(keyId, row)
  }
  for (const { keys = [] } of data) {
    for (const { keyId, name, meters } of keys) add(keyId, name ?? texts.keyUnnamed, meters)
  }
  for (const { rest = {} } of data) add("", texts.usageRest, rest)
  return [...rows.values()].filter(({ used }) => [...used.values()].some((amount) => amount !== 0))
}

/** What each key has used in all steps together. */
export const KeyUsage = ({ data, step, meters }: KeyUsageProps) => {
  const query = { step, groupBy: "key" }
  const download = useAction(() => downloadCsv(toPortalPath("/usage"), query, `${texts.usageFile}-key-${step}.csv`))
  const rows = toRows(data)
  if (rows.length === 0) return null
  return (
    <>
      {download.problem !== undefined && <ProblemNotice problem={download.problem} />}
      <Table
        caption={texts.usageByKey}
        rows={rows}
        getKey={({ keyId }) => keyId}
        columns={[
          { title: texts.usageKey, render: ({ name }) => name },
          ...meters.map(({ name, label }) => ({
            title: label,
            align: "right" as const,
            render: ({ used }: Row) => formatCount(used.get(name) ?? 0)
          }))
        ]}
      />
      <Button isBusy={download.isRunning} onClick={() => void download.run()}>
        {texts.usageDownloadByKey}
      </Button>
    </>
  )
}
