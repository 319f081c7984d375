import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useEffect } from "preact/hooks"
import { PageHeader } from "../../components/PageHeader.tsx"
import { findLink } from "../../layout/findAnything.ts"
import type { PageParams } from "../../routing/pages.ts"
import { linkTo, replaceAddress } from "../../routing/router.ts"

/** Leads to the page of a thing of which only the kind and the id are known, as in the log. */
export const FindPage = ({ params: { account = "", type = "", id = "" } }: { readonly params: PageParams }) => {
  const found = useQuery(`find ${account} ${type} ${id}`, async (signal) => ({
    link: await findLink(account, type, id, signal)
  }))
  const link = found.data?.link
  useEffect(() => {
    if (link !== undefined) replaceAddress(link)
  }, [link])
  return (
    <>
      <PageHeader title={`${type} ${id}`} />
      <QueryView query={found}>
        {({ link }) =>
          link === undefined && (
            <EmptyState title={`There is no ${type} with this id`}>
              <p>
                It was removed.{" "}
                <a href={linkTo(["accounts", account, "events"], { subject: id })}>What happened to it</a>
              </p>
            </EmptyState>
          )
        }
      </QueryView>
    </>
  )
}
