import { useEffect } from "preact/hooks"
import { get } from "../../api/request.ts"
import type { NamedJson, PageJson } from "../../api/types.ts"
import { EmptyState } from "../../components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"
import { caller } from "../../session/session.ts"
import { OpenAccountForm } from "./OpenAccountForm.tsx"

const limit = 50

const AccountList = () => {
  const offset = Number(address.value.query["offset"] ?? 0)
  const accounts = useQuery(`accounts ${offset}`, (signal) =>
    get<PageJson<NamedJson>>("/v1/accounts", { limit, offset }, signal)
  )
  return (
    <>
      <PageHeader title="Accounts" />
      <QueryView query={accounts}>
        {({ data, total }) =>
          total === 0 ? (
            <EmptyState title="There is no account yet">
              <p>An account exists as soon as something is created in it. Name yours below.</p>
            </EmptyState>
          ) : (
            <>
              <Table
                caption="Accounts"
                rows={data}
                getKey={({ name }) => name}
                columns={[
                  { title: "Name", render: ({ name }) => <a href={linkTo(["accounts", name])}>{name}</a> },
                  { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> }
                ]}
              />
              <Pager
                offset={offset}
                limit={limit}
                total={total}
                shown={data.length}
                onChange={(offset) => setQuery({ offset: offset || undefined })}
              />
            </>
          )
        }
      </QueryView>
      <OpenAccountForm />
    </>
  )
}

/** All accounts; a token for one account goes straight to it. */
export const AccountsPage = () => {
  const accountName = caller.value?.accountName ?? "*"
  useEffect(() => {
    // In place of this address, to which the back button would otherwise return for ever.
    if (accountName !== "*") location.replace(linkTo(["accounts", accountName]))
  }, [accountName])
  return accountName === "*" ? <AccountList /> : null
}
