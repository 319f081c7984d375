import { Pager } from "@tollgate/ui/components/Pager.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Table, type TableProps } from "@tollgate/ui/components/Table.tsx"
import type { ComponentChildren } from "preact"
import type { PageJson } from "../api/types.ts"
import type { List } from "../data/useList.ts"

export interface PagedTableProps<Page extends PageJson<unknown>>
  extends Omit<TableProps<Page["data"][number]>, "rows"> {
  readonly list: List<Page>
  /** Stands where the table would be if the list is empty. */
  readonly empty: ComponentChildren | ((page: Page) => ComponentChildren)
  /** Stands below the table. */
  readonly footer?: ((page: Page) => ComponentChildren) | undefined
}

/** A list of the HTTP API as a table with pages. */
export const PagedTable = <Page extends PageJson<unknown>>({
  list,
  empty,
  footer,
  ...table
}: PagedTableProps<Page>) => (
  <QueryView query={list}>
    {(page) =>
      page.total === 0 ? (
        typeof empty === "function" ? (
          empty(page)
        ) : (
          empty
        )
      ) : (
        <>
          {page.data.length === 0 && <p class="hint">This page is past the end of the list.</p>}
          <Table {...table} rows={page.data} />
          <Pager
            offset={list.offset}
            limit={list.limit}
            total={page.total}
            shown={page.data.length}
            onChange={list.goToOffset}
          />
          {footer?.(page)}
        </>
      )
    }
  </QueryView>
)
