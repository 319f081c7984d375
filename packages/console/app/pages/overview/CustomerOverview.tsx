import { Select } from "@tollgate/ui/components/fields.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { type Column, Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { MeterQuota } from "../../components/MeterQuota.tsx"
import { nearShare } from "../../components/quotas.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"
import { loadCustomerUse, loadTop, type MeterOfCustomer } from "./customers.ts"
import type { MeteringBucketCount } from "./inventory.ts"

const maxShown = 10
const maxTrials = 5

const customerColumn: Column<MeterOfCustomer> = {
  title: "Customer",
  render: ({ customerKey, link }) => <a href={link}>{customerKey}</a>
}
const quotaColumn: Column<MeterOfCustomer> = {
  title: "Used",
  render: ({ meter, quota, link }) => (
    <a class="plain-link" href={link}>
      <MeterQuota label={meter} quota={quota} />
    </a>
  )
}
const resetColumn: Column<MeterOfCustomer> = {
  title: "Resets",
  render: ({ resetsOn }) => (resetsOn === "" ? "never" : <Time value={resetsOn} />)
}

/** Who has used most of a meter this month, in all their subscriptions. */
const TopCustomers = ({
  account,
  buckets,
  meter,
  links
}: {
  readonly account: string
  readonly buckets: ReadonlyArray<MeteringBucketCount>
  readonly meter: string
  /** The pages of customers. Those of others are found in the list of subscriptions. */
  readonly links: ReadonlyMap<string, string>
}) => {
  const top = useQuery(`top ${account} ${meter}`, (signal) => loadTop(buckets, meter, signal))
  return (
    <QueryView query={top}>
      {(rows) => (
        <Table
          caption={`Customers who used most ${meter} this month`}
          rows={rows.slice(0, maxShown)}
          getKey={({ bucket, customerKey }) => `${bucket} ${customerKey}`}
          columns={[
            {
              title: "Customer",
              render: ({ bucket, customerKey }) => (
                <a
                  href={
                    links.get(customerKey) ??
                    linkTo(["accounts", account, "metering", bucket], { tab: "subscriptions", customerKey })
                  }
                >
                  {customerKey}
                </a>
              )
            },
            {
              title: meter,
              align: "right",
              render: ({ bucket, customerKey, used }) => (
                <a
                  href={linkTo(["accounts", account, "metering", bucket], { tab: "subscriptions", customerKey })}
                  aria-label={`Subscriptions of ${customerKey}, which used ${formatCount(used)}`}
                >
                  {formatCount(used)}
                </a>
              )
            }
          ]}
        />
      )}
    </QueryView>
  )
}

/** Who uses most, and who is near or over a quota, in the present periods. */
export const CustomerOverview = ({
  account,
  buckets
}: {
  readonly account: string
  readonly buckets: ReadonlyArray<MeteringBucketCount>
}) => {
  const ids = buckets.map(({ id }) => id)
  const use = useQuery(`customers ${account} ${ids}`, (signal) => loadCustomerUse(account, buckets, signal))
  const names = [...new Set(use.data?.meters.map(({ meter }) => meter))].sort()
  const { meter = names[0] ?? "" } = address.value.query
  return (
    <>
      <Section
        title="Customers near or over a quota, or low on credit"
        actions={<span class="hint">{use.data?.isPartial && "of the oldest 1,000 subscriptions"}</span>}
      >
        <QueryView query={use}>
          {({ meters }) => {
            const near = meters.filter(({ share }) => share >= nearShare).sort((a, b) => b.share - a.share)
            return near.length === 0 ? (
              <p class="hint">None: nobody has used {nearShare * 100} % of a quota in the present period.</p>
            ) : (
              <>
                <Table
                  caption="Customers near the end of a quota"
                  rows={near.slice(0, maxShown)}
                  getKey={({ id }) => id}
                  columns={[customerColumn, quotaColumn, { title: "Plan", render: ({ plan }) => plan }, resetColumn]}
                />
                {near.length > maxShown && (
                  <p class="hint">
                    The {maxShown} nearest of {formatCount(near.length)}.
                  </p>
                )}
              </>
            )
          }}
        </QueryView>
      </Section>
      {use.data !== undefined && use.data.trials.length > 0 && (
        <Section title="Trials that end soon">
          <Table
            caption="Trials, the next to end first"
            rows={use.data.trials.slice(0, maxTrials)}
            getKey={({ id }) => id}
            columns={[
              { title: "Customer", render: ({ customerKey, link }) => <a href={link}>{customerKey}</a> },
              { title: "Plan", render: ({ plan }) => plan },
              { title: "Ends", render: ({ endsOn }) => <Time value={endsOn} /> }
            ]}
          />
        </Section>
      )}
      {names.length > 0 && (
        <Section
          title="Top customers of this month"
          actions={
            <Select
              label="Meter"
              value={meter}
              onChange={(meter) => setQuery({ meter })}
              options={names.map((name) => ({ value: name, label: name }))}
            />
          }
        >
          <TopCustomers
            account={account}
            buckets={buckets}
            meter={meter}
            links={new Map(use.data?.meters.map(({ customerKey, link }) => [customerKey, link]))}
          />
        </Section>
      )}
    </>
  )
}
