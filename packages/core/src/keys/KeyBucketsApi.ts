/**
 * Declares the list of key buckets. `KeyBuckets.ts` implements it.
 */

import { AccountName, KeyBucketName, ListedItem, type ListedItemJson, Page } from "@tollgate/store/internal"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../api/checkMethods.ts"
import type { PageOptions, PagePromise } from "../api/Methods.ts"
import { Area, Owner } from "../api/Owner.ts"
import { parameters } from "../api/parameters.ts"
import { page } from "../api/query.ts"

export class KeyBucketsApi extends HttpApiGroup.make("keyBuckets")
  .add(
    HttpApiEndpoint.get("list", "/accounts/:accountName/key-buckets", {
      params: { accountName: AccountName },
      query: parameters(page),
      success: Page(ListedItem(KeyBucketName, "KeyBucket"))
    })
      .annotate(OpenApi.Summary, "List key buckets")
      .annotate(
        OpenApi.Description,
        "Returns the key buckets of the account, oldest first. A key bucket exists from the first consumer " +
          "that is created in it, and stays in the list when its consumers are deleted."
      )
      .annotate(Owner, "account")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "keys")
  .annotateMerge(
    OpenApi.annotations({
      title: "Key buckets",
      description: "Containers of consumers, such as one for each environment."
    })
  ) {}

/** The key buckets of an account. */
export interface KeyBucketsMethods {
  /**
   * Returns a page of the key buckets, oldest first. Iterate over it to get all pages. A key bucket exists from the first
   * consumer that is created in it, and stays in the list when its consumers are removed.
   */
  list(options?: PageOptions): PagePromise<ListedItemJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof KeyBucketsApi, KeyBucketsMethods>>
