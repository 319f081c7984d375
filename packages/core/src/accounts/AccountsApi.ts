/**
 * Declares the operations on accounts. `Accounts.ts` implements it.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { CallOptions, PageOptions, PagePromise } from "../api/Methods.ts"
import { Owner } from "../api/Owner.ts"
import { parameters } from "../api/parameters.ts"
import { page } from "../api/query.ts"
import { rejectUnknown } from "../api/rejectUnknown.ts"
import { ListedItem, type ListedItemJson } from "../schema/ListedItem.ts"
import { AccountName } from "../schema/Names.ts"
import { Page } from "../schema/Page.ts"

export const Account = ListedItem(AccountName, "Account")
export type Account = typeof Account.Type

const Bytes = Schema.Struct({ used: Schema.Int, max: Schema.Int }).annotate({ identifier: "AccountBytes" })

/** The identifier is the public name in the OpenAPI description. */
export const AccountDetails = Schema.Struct({
  name: AccountName,
  /** Consumers, keys, plans, subscriptions, webhooks, deliveries, deployments and recorded responses. */
  recordBytes: Bytes,
  /** Sources and releases. */
  deploymentBytes: Bytes
}).annotate({ identifier: "AccountDetails" })
/** How many bytes an account has and may have. */
export type AccountDetailsJson = typeof AccountDetails.Encoded

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
      .annotate(Owner, "all-accounts"),
    HttpApiEndpoint.get("get", "/accounts/:accountName", {
      params: { accountName: AccountName },
      success: AccountDetails
    })
      .annotate(OpenApi.Summary, "Get an account")
      .annotate(
        OpenApi.Description,
        "Returns how many bytes the account has, and how many it may have: `recordBytes` of consumers, keys, plans, " +
          "subscriptions, webhooks, deliveries, deployments and recorded responses, `deploymentBytes` of sources and releases. At " +
          "its maximum, a request that adds to it gets 409 `limit-reached`. What other processes have written counts " +
          "after a second. An account that has nothing yet has 0 bytes."
      )
      .annotate(Owner, "account")
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
  /**
   * Returns how many bytes an account has and may have: of records, and of sources and releases.
   *
   * @example
   * ```ts
   * const { recordBytes } = await gate.accounts.get("acme")
   * console.log(`${recordBytes.used} of ${recordBytes.max} bytes`)
   * ```
   */
  get(accountName: string, options?: CallOptions): Promise<AccountDetailsJson>
}
