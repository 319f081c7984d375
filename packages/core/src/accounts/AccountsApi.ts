/**
 * Declares the operations on accounts. `Accounts.ts` implements it.
 */

import { AccountName, ListedItem, type ListedItemJson, Page } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../api/checkMethods.ts"
import type { CallOptions, PageOptions, PagePromise } from "../api/Methods.ts"
import { Area, Owner } from "../api/Owner.ts"
import { parameters } from "../api/parameters.ts"
import { page } from "../api/query.ts"

export const Account = ListedItem(AccountName, "Account")
export type Account = typeof Account.Type

/** How many bytes of something an account has, and may have. */
export const Bytes = Schema.Struct({ used: Schema.Int, max: Schema.Int }).annotate({ identifier: "AccountBytes" })

/** The identifier is the public name in the OpenAPI description. */
export const AccountDetails = Schema.Struct({
  name: AccountName,
  /** All records, and recorded responses. */
  recordBytes: Bytes
}).annotate({ identifier: "AccountDetails" })
/** How many bytes an account has and may have. */
export type AccountDetailsJson = typeof AccountDetails.Encoded

/** `details` are what modules tell about an account. */
export const makeAccountsApi = (details: Readonly<Record<string, Schema.Top>>) =>
  HttpApiGroup.make("accounts")
    .add(
      HttpApiEndpoint.get("list", "/accounts", { query: parameters(page), success: Page(Account) })
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
        success: Schema.Struct({ ...AccountDetails.fields, ...details }).annotate({
          identifier: "AccountDetails"
        }) as unknown as typeof AccountDetails
      })
        .annotate(OpenApi.Summary, "Get an account")
        .annotate(
          OpenApi.Description,
          "Returns how many bytes the account has, and how many it may have: `recordBytes` of all records and recorded " +
            "responses, and what modules count. At its maximum, a request that adds to it gets 409 `limit-reached`. What " +
            "other processes have written counts after a second. An account that has nothing yet has 0 bytes."
        )
        .annotate(Owner, "account")
    )
    .prefix("/v1")
    .middleware(Authenticated)
    .annotate(Area, "accounts")
    .annotateMerge(
      OpenApi.annotations({
        title: "Accounts",
        description: "The tenants of the server. Everything else belongs to one account."
      })
    )

export type AccountsApi = ReturnType<typeof makeAccountsApi>

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

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<AccountsApi, AccountsMethods>>
