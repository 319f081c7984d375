/**
 * Declares the list of accounts. `Accounts.ts` implements it.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { PageOptions, PagePromise } from "../api/Methods.ts"
import { Owner } from "../api/Owner.ts"
import { parameters } from "../api/parameters.ts"
import { page } from "../api/query.ts"
import { rejectUnknown } from "../api/rejectUnknown.ts"
import { ListedItem, type ListedItemJson } from "../schema/ListedItem.ts"
import { AccountName } from "../schema/Names.ts"
import { Page } from "../schema/Page.ts"

export const Account = ListedItem(AccountName, "Account")
export type Account = typeof Account.Type

export class AccountsApi extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.get("list", "/accounts", { query: parameters(page), success: Page(Account) })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List accounts")
      .annotate(
        OpenApi.Description,
        "Returns the accounts, oldest first. Only a credential for all accounts may call it; any other gets " +
          "403. An account exists from the first resource that is created in it, and stays in the list when " +
          "all its resources are deleted."
      )
      .annotate(Owner, "all-accounts")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotateMerge(
    OpenApi.annotations({
      title: "Accounts",
      description: "The tenants of the server. Everything else belongs to one account."
    })
  ) {}

/** All accounts. */
export interface AccountsMethods {
  /**
   * Returns a page of the accounts, oldest first. Iterate over it to get all pages. An account exists from the first write
   * to one of its key buckets, metering buckets or projects, and stays in the list when all of them are removed.
   */
  list(options?: PageOptions): PagePromise<ListedItemJson>
}
