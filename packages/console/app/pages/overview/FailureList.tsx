import type { WebhookJson } from "../../api/types.ts"
import { QueryView } from "../../components/QueryView.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { loadFailures } from "./failures.ts"

export const FailureList = ({
  account,
  webhooks
}: {
  readonly account: string
  readonly webhooks: ReadonlyArray<WebhookJson>
}) => {
  const failures = useQuery(`failures ${account}`, (signal) => loadFailures(account, webhooks, signal))
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
