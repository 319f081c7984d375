import { Button } from "@tollgate/ui/components/Button.tsx"
import { saveFile } from "@tollgate/ui/data/saveFile.ts"
import { formatCsv } from "@tollgate/ui/format/csv.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { useState } from "preact/hooks"
import { canWrite, may } from "../../session/session.ts"
import { type BulkChange, BulkDialog } from "./BulkDialog.tsx"
import { type ConsumerRow, toCsvRow } from "./consumerRows.ts"
import type { BucketParams } from "./paths.ts"

export interface BulkActionsProps {
  readonly params: BucketParams
  /** All rows that the filter leaves and that are loaded, in their order. */
  readonly matching: ReadonlyArray<ConsumerRow>
  /** The names of the selected consumers. */
  readonly selected: ReadonlySet<string>
  readonly onSelect: (names: ReadonlySet<string>) => void
  readonly onChanged: () => void
}

/** What can be done with the selected consumers. */
export const BulkActions = ({ params, matching, selected, onSelect, onChanged }: BulkActionsProps) => {
  const [change, setChange] = useState<BulkChange>()
  const rows = matching.filter(({ consumer }) => selected.has(consumer.name))
  if (rows.length === 0) return null
  return (
    <section class="bulk-actions" aria-label="Selected consumers">
      <strong role="status">{formatCount(rows.length)} selected</strong>
      {rows.length < matching.length && (
        <Button isSmall onClick={() => onSelect(new Set(matching.map(({ consumer }) => consumer.name)))}>
          Select all {formatCount(matching.length)}
        </Button>
      )}
      {canWrite.value && may("consumers:disable") && (
        <>
          <Button kind="destructive" icon="stop" isSmall onClick={() => setChange("stop")}>
            Stop
          </Button>
          <Button isSmall onClick={() => setChange("resume")}>
            Let them call again
          </Button>
        </>
      )}
      {canWrite.value && may("consumers:write") && (
        <Button isSmall onClick={() => setChange("tag")}>
          Add a tag
        </Button>
      )}
      <Button
        isSmall
        onClick={() => saveFile(formatCsv(rows.map(toCsvRow)), "text/csv", `consumers-${params.bucket}.csv`)}
      >
        Export CSV
      </Button>
      <Button isSmall onClick={() => onSelect(new Set())}>
        Clear selection
      </Button>
      {change !== undefined && (
        <BulkDialog
          params={params}
          change={change}
          names={rows.map(({ consumer }) => consumer.name)}
          onChanged={onChanged}
          onClose={() => setChange(undefined)}
        />
      )}
    </section>
  )
}
