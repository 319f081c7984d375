import { get } from "@tollgate/ui/api/request.ts"
import { Select } from "@tollgate/ui/components/fields.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import type { NamedJson, PageJson } from "../api/types.ts"
import { goTo, linkTo } from "../routing/router.ts"

/** More are found on their own page. */
const maxAccounts = 50

/** Opens another account, for those who may see all. */
export const AccountSwitcher = ({ account }: { readonly account: string }) => {
  const accounts = useQuery("accounts to switch to", (signal) =>
    get<PageJson<NamedJson>>("/v1/accounts", { limit: maxAccounts }, signal)
  )
  const names = accounts.data?.data.map(({ name }) => name) ?? []
  const others = names.filter((name) => name !== account)
  return (
    <>
      {others.length > 0 && (
        <Select
          label="Account"
          value={account}
          onChange={(name) => goTo(linkTo(["accounts", name]))}
          options={[account, ...others].map((name) => ({ value: name, label: name }))}
        />
      )}
      <a href="#/?all=1">Change account</a>
    </>
  )
}
