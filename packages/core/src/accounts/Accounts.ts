/**
 * The list of accounts. An account needs no explicit creation: Tollgate adds it to this list before the first write to
 * anything that belongs to it. If the process dies in between, the list has an account without content.
 */

import { type AccountName, BoundedMap, Partition, Store, type StoreUnavailable, toPage } from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { type AccountsApi, type AccountsMethods, makeAccountsApi } from "./AccountsApi.ts"
import { accountRecords } from "./accountRecords.ts"
import { Limits } from "./limits/Limits.ts"
import { RecordBytes } from "./RecordBytes.ts"

const directory = Partition.accountsDirectory

const make = Effect.gen(function* () {
  const store = yield* Store
  const recordBytes = yield* RecordBytes
  const limits = yield* Limits
  const listedAccounts = new BoundedMap<string, true>(10_000)

  const insert = Effect.fnUntraced(function* (name: AccountName) {
    const account = { name, createdOn: yield* DateTime.now }
    // On a conflict the account is already listed.
    yield* Effect.catchTag(
      store.commit(directory, [accountRecords.insert(account)]),
      "StoreConflict",
      () => Effect.void
    )
    listedAccounts.set(name, true)
  })

  return Accounts.of({
    ...implementOperations(makeAccountsApi({}), { store })({
      list: Effect.fnUntraced(function* ({ query }) {
        const { entries, ...page } = yield* accountRecords.page(directory, query)
        return toPage(
          query,
          page,
          entries.map(({ value }) => value)
        )
      }),

      get: Effect.fnUntraced(function* ({ params: { accountName: name } }) {
        return { name, recordBytes: { used: yield* recordBytes.read(name), max: limits.recordBytesPerAccount } }
      })
    }),
    ensureListed: (name) => (listedAccounts.has(name) ? Effect.void : insert(name))
  })
})

/**
 * The operations on accounts, `list` and `get`, which take one `OperationRequest`, and `ensureListed`, which adds an account to
 * the list.
 */
export class Accounts extends Context.Service<
  Accounts,
  Operations<AccountsApi, AccountsMethods> & {
    /** Adds an account to the list unless it is already there. A process does so once for each account. */
    readonly ensureListed: (accountName: AccountName) => Effect.Effect<void, StoreUnavailable>
  }
>()("@tollgate/core/accounts/Accounts") {
  static readonly layer = Layer.effect(Accounts, make)
}
