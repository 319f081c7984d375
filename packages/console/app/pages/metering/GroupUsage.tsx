import { get } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { useFieldText } from "@tollgate/ui/components/useFieldText.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useReloadOn } from "@tollgate/ui/data/useReloadOn.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import type { ComponentChildren } from "preact"
import type { UsageSeriesJson } from "../../api/types.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"

export interface GroupUsageProps {
  readonly account: string
  /** The paths of the usage in the API. What they have is added up. */
  readonly paths: ReadonlyArray<string>
  /** What the usage is of, if the page has several: " in default". */
  readonly suffix?: string | undefined
  /** Another number loads the usage again. */
  readonly revision?: number | undefined
}

interface Row {
  readonly id: string
  readonly name: ComponentChildren
  readonly used: Map<string, number>
}

type Group = NonNullable<UsageSeriesJson["data"][number]["groups"]>[number]

const describe = (account: string, { keyId, keyBucketName = "", value = "" }: Group): ComponentChildren =>
  keyId === undefined ? (
    value
  ) : (
    <a href={linkTo(["accounts", account, "consumers", keyBucketName], { search: keyId })}>{keyId}</a>
  )

/** What each group used in all days together, the one with the most first; last what belongs to none. */
const toRows = (account: string, data: UsageSeriesJson["data"], meters: ReadonlyArray<string>): ReadonlyArray<Row> => {
  const rows = new Map<string, Row>()
  const add = (id: string, name: ComponentChildren, amounts: Readonly<Record<string, number>> = {}): void => {
    const row = rows.get(id) ?? { id, name, used: new Map() }
    for (const [meter, amount] of Object.entries(amounts)) row.used.set(meter, (row.used.get(meter) ?? 0) + amount)
    rows.set(id, row)
  }
  const rest = { other: "All others", unknown: "Not known" } as const
  for (const { groups = [] } of data) {
    for (const group of groups) add(`group ${group.keyId ?? group.value}`, describe(account, group), group.meters)
  }
  const ranked = [...rows.values()].sort((left, right) => {
    const meter = meters.find((name) => left.used.get(name) !== right.used.get(name)) ?? ""
    return (right.used.get(meter) ?? 0) - (left.used.get(meter) ?? 0)
  })
  rows.clear()
  for (const { other, unknown } of data) {
    add("other", rest.other, other)
    add("unknown", rest.unknown, unknown)
  }
  const isUsed = ({ used }: Row) => [...used.values()].some((amount) => amount !== 0)
  return [...ranked, ...rows.values()].filter(isUsed)
}

/** What was used by key, or by the values of a label, in the last 30 days. The label is in the address. */
export const GroupUsage = ({ account, paths, suffix = "", revision = 0 }: GroupUsageProps) => {
  const { label = "" } = address.value.query
  const [input, setInput] = useFieldText(label)
  const groupBy = label === "" ? "key" : `label:${label}`
  const usage = useQuery(`usage ${paths} ${groupBy}`, async (signal) => {
    const all = await Promise.all(paths.map((path) => get<UsageSeriesJson>(path, { step: "day", groupBy }, signal)))
    return all.flatMap(({ data }) => data)
  })
  useReloadOn(usage, revision)
  return (
    <>
      <p class="hint">
        Of the last 30 days, up to 15 seconds late. What was counted without a key or label is not known.
      </p>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          setQuery({ label: input.trim() })
        }}
      >
        <TextField
          label="Label to group by"
          placeholder="model; empty for keys"
          type="search"
          value={input}
          onInput={setInput}
          autoComplete="off"
        />
        <Button type="submit">Group</Button>
      </form>
      <QueryView query={usage}>
        {(data) => {
          const meters = [...new Set(data.flatMap((step) => Object.keys(step.meters)))].sort()
          const rows = toRows(account, data, meters)
          return rows.length === 0 ? (
            <p class="hint">Nothing was used.</p>
          ) : (
            <Table
              caption={`Usage by ${label || "key"}${suffix}`}
              rows={rows}
              getKey={({ id }) => id}
              columns={[
                { title: label || "Key", render: ({ name }) => name },
                ...meters.map((meter) => ({
                  title: meter,
                  align: "right" as const,
                  render: ({ used }: Row) => formatCount(used.get(meter) ?? 0)
                }))
              ]}
            />
          )
        }}
      </QueryView>
    </>
  )
}
