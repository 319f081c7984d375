/**
 * Searches an account in all sources, and shows callers what their permissions allow.
 */
import { Store, type StoreOperations } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { Principal } from "../access/Principal.ts"
import { hasPermission } from "../access/permissions.ts"
import type { AnyOperation } from "../api/findOperation.ts"
import type { SearchItem, SearchSource } from "./SearchSource.ts"

const maxResults = 20

/** What the text is first; then the best of each type, the second of each type, and so on. */
const rankItems = (items: ReadonlyArray<SearchItem>): ReadonlyArray<SearchItem> => {
  const counts = new Map<string, number>()
  const ranked = items.map((item) => {
    const rank = counts.get(item.type) ?? 0
    counts.set(item.type, rank + 1)
    return { item, rank: item.isExact ? -1 : rank }
  })
  return ranked.toSorted((left, right) => left.rank - right.rank).map(({ item }) => item)
}

/** Makes the operation. A call in process has no principal, and sees everything. */
export const makeSearchAccount = (sources: ReadonlyArray<SearchSource>, store: StoreOperations): AnyOperation =>
  Effect.fnUntraced(function* ({ params, query }) {
    const principal = Option.getOrUndefined(yield* Effect.serviceOption(Principal))
    const maySee = (permission: string) => principal === undefined || hasPermission(principal, permission)
    const request = {
      accountName: params?.["accountName"] ?? "",
      text: String(query?.["q"]),
      limit: maxResults,
      maySee
    }
    const search = Effect.forEach(sources, (find) => find(request), { concurrency: "unbounded" })
    const found = yield* Effect.provideService(search, Store, store)
    const visible = found.flat().filter(({ permission }) => maySee(permission))
    return {
      data: rankItems(visible)
        .slice(0, maxResults)
        .map(({ permission: _, isExact: __, ...item }) => item)
    }
  })
