/**
 * The directory of accounts. An account is never removed from it, because nothing says that its last content is gone.
 */
import { Collection } from "@tollgate/store/internal"
import { Account } from "./AccountsApi.ts"

/** The records of accounts, in the directory of accounts. */
export const accountRecords = Collection.make({
  name: "account",
  format: 1,
  schema: Account,
  key: ({ name }) => name
})
