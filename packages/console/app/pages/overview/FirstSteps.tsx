import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { linkTo } from "../../routing/router.ts"
import type { Inventory } from "./inventory.ts"

/** What to do first in an account in which nothing exists. */
export const FirstSteps = ({ account, inventory }: { readonly account: string; readonly inventory: Inventory }) => {
  const toLink = (section: string): string => linkTo(["accounts", account, section])
  return (
    <EmptyState title="Nothing exists in this account yet">
      <p>What to do first:</p>
      <ol>
        <li>
          <a href={toLink("consumers")}>Create a consumer</a>, and give it an API key.
        </li>
        <li>
          <a href={toLink("metering")}>Create a metering bucket and a plan</a>, then subscribe the consumer to it.
        </li>
        {inventory.projects !== undefined && (
          <li>
            <a href={toLink("deployments")}>Deploy a site</a> from a folder.
          </li>
        )}
        {inventory.webhooks !== undefined && (
          <li>
            <a href={toLink("webhooks")}>Create a webhook</a> to be told of every change.
          </li>
        )}
      </ol>
      <p>
        The <a href="../v1/docs">API reference</a> has the same for programs.
      </p>
    </EmptyState>
  )
}
