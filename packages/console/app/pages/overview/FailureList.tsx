import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { loadFailures } from "./failures.ts"
import type { Inventory } from "./inventory.ts"

export const FailureList = ({ account, inventory }: { readonly account: string; readonly inventory: Inventory }) => {
  const failures = useQuery(`failures ${account}`, (signal) => loadFailures(account, inventory, signal))
  return (
    <QueryView query={failures}>
      {(failures) =>
        failures.length === 0 ? (
          <p class="hint">Nothing: no deployment failed, and no webhook has a problem.</p>
        ) : (
          <Table
            caption="Failures"
            rows={failures}
            getKey={({ id }) => id}
            columns={[
              { title: "When", render: ({ failedOn }) => <Time value={failedOn} /> },
              { title: "What", render: ({ what, link }) => <a href={link}>{what}</a> },
              { title: "Why", render: ({ why }) => why }
            ]}
          />
        )
      }
    </QueryView>
  )
}
