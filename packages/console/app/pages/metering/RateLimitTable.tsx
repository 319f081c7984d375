import { Table } from "@tollgate/ui/components/Table.tsx"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import type { PlanJson } from "../../api/types.ts"

/** The rate limits of a plan. */
export const RateLimitTable = ({ plan }: { readonly plan: PlanJson }) => {
  const rows = Object.entries(plan.rateLimits ?? {})
  if (rows.length === 0) return <p class="hint">There is none: only the meters limit what is used.</p>
  return (
    <Table
      caption={`Rate limits of ${plan.label}`}
      rows={rows}
      getKey={([name]) => name}
      columns={[
        { title: "Name", render: ([name]) => <code>{name}</code> },
        { title: "Requests", align: "right", render: ([, { limit }]) => formatCount(limit) },
        { title: "Per", render: ([, { per }]) => (typeof per === "number" ? `${formatCount(per)} ms` : per) },
        { title: "At once", align: "right", render: ([, { limit, burst }]) => formatCount(burst ?? limit) }
      ]}
    />
  )
}
