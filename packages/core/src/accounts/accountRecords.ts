/**
 * The directory of accounts. An account is never removed from it, because nothing says that its last content is gone.
 */
import * as Collection from "../store/Collection.ts"
import { Account } from "./AccountsApi.ts"

export const accountRecords = Collection.make({
  name: "account",
  format: 1,
  schema: Account,
  key: ({ name }) => name
})
