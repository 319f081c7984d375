import { toPath } from "@tollgate/ui/api/request.ts"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { caller, may } from "../../session/session.ts"
import { SessionList } from "./SessionList.tsx"
import { TokenList } from "./TokenList.tsx"

/** Who may use the HTTP API and the console: tokens that were created at run time, and sessions of people. */
export const PeoplePage = ({ params: { account = "" } }: { readonly params: PageParams }) => (
  <>
    <PageHeader title="People and tokens" />
    {may("tokens:read") ? (
      <>
        <SessionList title="Sessions" path={toPath("/v1/accounts", account, "sessions")} />
        {caller.value?.accountName === "*" && <SessionList title="Sessions for all accounts" path="/v1/sessions" />}
        <TokenList path={toPath("/v1/accounts", account, "tokens")} />
      </>
    ) : (
      <EmptyState title="You may not see this">
        <p>
          Your token lacks the permission <code>tokens:read</code>, which the role <code>admin</code> has.
        </p>
      </EmptyState>
    )}
  </>
)
