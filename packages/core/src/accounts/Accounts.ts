/**
 * The list of accounts. An account needs no explicit creation: Tollgate adds it to this list before the first write to
 * anything that belongs to it. If the process dies in between, the list has an account without content.
 */
import { Context, DateTime, Effect, Layer } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import type { AccountName } from "../schema/Names.ts"
import { toPage } from "../schema/Page.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import type { StoreUnavailable } from "../store/StoreError.ts"
import { AccountsApi, type AccountsMethods } from "./AccountsApi.ts"
import { deploymentBytes } from "./accountBytes.ts"
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
    ...implementOperations(AccountsApi, { store })({
      list: Effect.fnUntraced(function* ({ query }) {
        const { entries, ...page } = yield* accountRecords.page(directory, query)
        return toPage(
          query,
          page,
          entries.map(({ value }) => value)
        )
      }),

      get: Effect.fnUntraced(function* ({ params: { accountName: name } }) {
        const { partition, counter } = deploymentBytes(name)
        const [deployments = 0] = yield* store.counters(partition, [counter])
        return {
          name,
          recordBytes: { used: yield* recordBytes.read(name), max: limits.recordBytesPerAccount },
          deploymentBytes: { used: deployments, max: limits.deploymentBytesPerAccount }
        }
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
  Operations<typeof AccountsApi, AccountsMethods> & {
    /** Adds an account to the list unless it is already there. A process does so once for each account. */
    readonly ensureListed: (accountName: AccountName) => Effect.Effect<void, StoreUnavailable>
  }
>()("@tollgate/core/accounts/Accounts") {
  static readonly layer = Layer.effect(Accounts, make)
}
