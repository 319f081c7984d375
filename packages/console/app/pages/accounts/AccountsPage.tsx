import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useEffect } from "preact/hooks"
import type { NamedJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import { address, linkTo, replaceAddress } from "../../routing/router.ts"
import { caller } from "../../session/session.ts"
import { OpenAccountForm } from "./OpenAccountForm.tsx"

const AccountList = () => {
  const { all } = address.value.query
  const accounts = useList<NamedJson>("/v1/accounts")
  const [only, ...others] = accounts.data?.data ?? []
  // In place of this address, to which the back button would otherwise return for ever.
  useEffect(() => {
    if (only !== undefined && others.length === 0 && accounts.offset === 0 && all === undefined)
      replaceAddress(linkTo(["accounts", only.name]))
  }, [only?.name])
  return (
    <>
      <PageHeader title="Accounts" />
      <PagedTable
        list={accounts}
        caption="Accounts"
        getKey={({ name }) => name}
        empty={
          <EmptyState title="There is no account yet">
            <p>An account exists as soon as something is created in it. Name yours below.</p>
          </EmptyState>
        }
        columns={[
          { title: "Name", render: ({ name }) => <a href={linkTo(["accounts", name])}>{name}</a> },
          { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> }
        ]}
      />
      <OpenAccountForm />
    </>
  )
}

/** All accounts. If there is only one, or the token is for one, it is opened instead. */
export const AccountsPage = () => {
  const accountName = caller.value?.accountName ?? "*"
  useEffect(() => {
    if (accountName !== "*") replaceAddress(linkTo(["accounts", accountName]))
  }, [accountName])
  return accountName === "*" ? <AccountList /> : null
}
