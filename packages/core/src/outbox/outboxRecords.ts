/**
 * The outbox of a partition: the events of its changes, in the order of the changes, each written in the commit of its
 * change. The relay moves them to the log of the account.
 */
import { Collection } from "@tollgate/store/internal"
import { encodeStoredEvent, StoredEvent } from "./StoredEvent.ts"

export const outboxRecords = Collection.make({
  name: "outbox",
  countsBytes: false,
  format: 1,
  schema: StoredEvent,
  encode: encodeStoredEvent,
  key: ({ id }) => id
})
