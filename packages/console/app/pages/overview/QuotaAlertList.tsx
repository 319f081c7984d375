import { QueryView } from "../../components/QueryView.tsx"
import { QuotaBar } from "../../components/QuotaBar.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { loadQuotaAlerts } from "./quotaAlerts.ts"

export const QuotaAlertList = ({ account }: { readonly account: string }) => {
  const alerts = useQuery(`quota alerts ${account}`, (signal) => loadQuotaAlerts(account, signal))
  return (
    <QueryView query={alerts}>
      {(alerts) =>
        alerts.length === 0 ? (
          <p class="hint">None: no customer has reached a threshold of a quota in its present period.</p>
        ) : (
          <Table
            caption="Customers near the end of a quota"
            rows={alerts}
            getKey={({ id }) => id}
            columns={[
              { title: "Customer", render: ({ customerKey, link }) => <a href={link}>{customerKey}</a> },
              {
                title: "Used when it was noticed",
                render: ({ meter, used, max }) => <QuotaBar label={meter} used={used} max={max} />
              },
              { title: "Noticed", render: ({ reachedOn }) => <Time value={reachedOn} /> },
              { title: "Resets", render: ({ resetsOn }) => <Time value={resetsOn} /> }
            ]}
          />
        )
      }
    </QueryView>
  )
}
