import type { ComponentChildren } from "preact"

export interface Column<Row> {
  readonly title: string
  readonly render: (row: Row) => ComponentChildren
  readonly align?: "right" | undefined
  /** The name of the order that the heading chooses, if the list can be sorted by this column. */
  readonly sort?: string | undefined
}

/** The order of the rows: the name of a column's order, with `-` before it for the highest first. */
export interface TableSort {
  readonly value: string
  readonly onChange: (sort: string) => void
}

/** Which rows are selected, by their keys. */
export interface TableSelection<Row> {
  readonly keys: ReadonlySet<string>
  readonly onChange: (keys: ReadonlySet<string>) => void
  readonly getLabel: (row: Row) => string
}

export interface TableProps<Row> {
  /** Says what the table lists, for screen readers. */
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly getKey: (row: Row, index: number) => string
  readonly sort?: TableSort | undefined
  readonly selection?: TableSelection<Row> | undefined
}

const SortableHeading = ({
  title,
  name,
  align,
  sort: { value, onChange }
}: {
  readonly title: string
  readonly name: string
  readonly align: string | undefined
  readonly sort: TableSort
}) => {
  const order = value === name ? "ascending" : value === `-${name}` ? "descending" : undefined
  return (
    <th scope="col" class={align} aria-sort={order ?? "none"}>
      <button
        type="button"
        class="sort-button"
        onClick={() => onChange(order === "descending" ? name : order === "ascending" ? "" : `-${name}`)}
      >
        {title}
        <span aria-hidden="true">{order === "ascending" ? "▲" : order === "descending" ? "▼" : "↕"}</span>
      </button>
    </th>
  )
}

export const Table = <Row,>({ caption, columns, rows, getKey, sort, selection }: TableProps<Row>) => {
  const keys = rows.map(getKey)
  const change = (changed: ReadonlyArray<string>, isSelected: boolean): void => {
    const others = [...(selection?.keys ?? [])].filter((key) => !changed.includes(key))
    selection?.onChange(new Set(isSelected ? [...others, ...changed] : others))
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that is wider than the screen is scrolled with the arrow keys
    <section class="table-frame" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {selection !== undefined && (
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Select all on this page"
                  checked={keys.length > 0 && keys.every((key) => selection.keys.has(key))}
                  onChange={(event) => change(keys, event.currentTarget.checked)}
                />
              </th>
            )}
            {columns.map(({ title, align, sort: name }) =>
              name === undefined || sort === undefined ? (
                <th key={title} scope="col" class={align}>
                  {title}
                </th>
              ) : (
                <SortableHeading key={title} title={title} name={name} align={align} sort={sort} />
              )
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => {
            const key = keys[index] ?? ""
            return (
              <tr key={key}>
                {selection !== undefined && (
                  <td class="selection">
                    <input
                      type="checkbox"
                      aria-label={`Select ${selection.getLabel(row)}`}
                      checked={selection.keys.has(key)}
                      onChange={(event) => change([key], event.currentTarget.checked)}
                    />
                  </td>
                )}
                {columns.map(({ title, render, align }) => (
                  <td key={title} class={align} data-title={title}>
                    {render(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
