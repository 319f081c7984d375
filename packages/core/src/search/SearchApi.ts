/**
 * Declares the search in an account. `searchAccount.ts` implements it.
 */

import { AccountName, SearchText } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../api/checkMethods.ts"
import type { CallOptions } from "../api/Methods.ts"
import { NeedsNoPermission, Owner, ReadsMuch } from "../api/Owner.ts"
import { parameters } from "../api/parameters.ts"

export const SearchResults = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      type: Schema.String.annotate({
        description: "What it is: `consumer`, `key`, `customer`, `subscription`, `plan`, or what a module has."
      }),
      id: Schema.String.annotate({ description: "Its id; of a customer the `customerKey`." }),
      name: Schema.optionalKey(Schema.String),
      keyBucketName: Schema.optionalKey(Schema.String),
      meteringBucketId: Schema.optionalKey(Schema.String),
      matched: Schema.String.annotate({ description: "The field by which it was found." })
    })
  )
}).annotate({ identifier: "SearchResults" })
/** What a search in an account has found, the best first. */
export type SearchResultsJson = typeof SearchResults.Encoded

export class SearchApi extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.get("find", "/v1/accounts/:accountName/search", {
      params: { accountName: AccountName },
      query: parameters({
        q: {
          json: SearchText,
          wire: SearchText,
          description: "2 to 32 characters, without regard to case.",
          openApiSchema: { type: "string", minLength: 2, maxLength: 32 }
        }
      }),
      success: SearchResults
    })
      .annotate(OpenApi.Summary, "Search an account")
      .annotate(
        OpenApi.Description,
        "Finds consumers, keys, customers, subscriptions, plans, and what modules have, such as deployments and tokens, by " +
          "the beginnings of their names, external ids, addresses and other texts; keys by their id or their last 4 " +
          "characters. Returns at most 20: those of which something is the text come first. Searches the 100 newest key " +
          "buckets and the 100 newest metering buckets of the account. A caller sees what its permissions allow it to read, " +
          "and needs no other permission."
      )
  )
  .middleware(Authenticated)
  .annotate(NeedsNoPermission, true)
  .annotate(ReadsMuch, true)
  .annotate(Owner, "account")
  .annotateMerge(OpenApi.annotations({ title: "Search", description: "Finds what an account has." })) {}

/** The search in an account, as it is declared. */
export interface SearchMethods {
  find(options: CallOptions & { readonly q: string }): Promise<SearchResultsJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof SearchApi, SearchMethods>>
