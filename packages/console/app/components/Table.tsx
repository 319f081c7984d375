import type { ComponentChildren } from "preact"

export interface Column<Row> {
  readonly title: string
  readonly render: (row: Row) => ComponentChildren
  readonly align?: "right" | undefined
}

export interface TableProps<Row> {
  /** Says what the table lists, for screen readers. */
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly getKey: (row: Row) => string
}

export const Table = <Row,>({ caption, columns, rows, getKey }: TableProps<Row>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that is wider than the screen is scrolled with the arrow keys
  <section class="table-frame" aria-label={caption} tabIndex={0}>
    <table class="table">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, align }) => (
            <th key={title} scope="col" class={align}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={getKey(row)}>
            {columns.map(({ title, render, align }) => (
              <td key={title} class={align}>
                {render(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
