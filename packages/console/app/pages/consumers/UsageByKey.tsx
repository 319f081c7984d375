import { Table } from "@tollgate/ui/components/Table.tsx"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import type { ConsumerParams } from "./paths.ts"
import { linkToConsumer } from "./paths.ts"
import type { KeyUse } from "./subscriptionUsage.ts"

/** What the customer used with each key, with a link to what was refused of it. */
export const UsageByKey = ({
  params,
  title,
  uses
}: {
  readonly params: ConsumerParams
  readonly title: string
  readonly uses: ReadonlyArray<KeyUse>
}) => {
  const meters = [...new Set(uses.flatMap((use) => Object.keys(use.meters)))].sort()
  if (uses.length === 0) return null
  return (
    <>
      <h4>{title}</h4>
      <Table
        caption={title}
        rows={uses}
        getKey={({ name }) => name}
        columns={[
          {
            title: "Key",
            render: ({ name, isKey }) =>
              isKey ? (
                <a href={linkToConsumer(params, { keyId: name })}>
                  <code>{name}</code>
                </a>
              ) : (
                name
              )
          },
          ...meters.map((meter) => ({
            title: meter,
            align: "right" as const,
            render: (use: KeyUse) => formatCount(use.meters[meter] ?? 0)
          }))
        ]}
      />
    </>
  )
}
