/**
 * What can be found in an account. Core and each module have sources of their own.
 */
import type { Store, StoreError } from "@tollgate/store/internal"
import type { Effect } from "effect"

/** What is searched for, and where. */
export interface SearchRequest {
  readonly accountName: string
  /** 2 to 32 characters. */
  readonly text: string
  /** Maximum results of a source. */
  readonly limit: number
  /** Whether the caller has a permission, and so whether it is worth while to search. */
  readonly maySee: (permission: string) => boolean
}

/** Something that was found. A caller without the permission does not see it. */
export interface SearchItem {
  readonly permission: string
  /** Whether a field is the text, and does not only begin with it. */
  readonly isExact: boolean
  /** What it is, in the singular, such as `consumer`. */
  readonly type: string
  readonly id: string
  readonly name?: string
  readonly keyBucketName?: string
  readonly meteringBucketId?: string
  /** The field by which it was found. */
  readonly matched: string
}

/** Finds the items of some types, the best first. */
export type SearchSource = (request: SearchRequest) => Effect.Effect<ReadonlyArray<SearchItem>, StoreError, Store>
