/**
 * The directory of accounts. An account is never removed from it, because nothing says that its last content is gone.
 */
import { DateTime, Effect } from "effect"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import { Account } from "./AccountsApi.ts"

export const accountRecords = Collection.make({
  name: "account",
  format: 1,
  schema: Account,
  key: ({ name }) => name
})

const directory = Partition.accountsDirectory

/** Adds accounts that have content to the list, in one commit. The date of an account that is already listed may become earlier. */
export const addMissingAccounts = (accounts: ReadonlyArray<Account>) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const records = yield* store.get(
        directory,
        accounts.map(({ name }) => accountRecords.recordKey(name))
      )
      const changes = yield* Effect.forEach(accounts, (account, index) => {
        const record = records[index]
        if (record === undefined) return Effect.succeed([accountRecords.insert(account)])
        return Effect.map(accountRecords.decode(record), (entry) =>
          DateTime.isLessThan(account.createdOn, entry.value.createdOn) ? [accountRecords.replace(entry, account)] : []
        )
      })
      yield* store.commit(directory, changes.flat())
    })
  )
