/**
 * The processes that hold work or leases. A process that lives changes its record every few seconds.
 */

import { Collection, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"

const ProcessRecord = Schema.Struct({
  id: Schema.String,
  startedOn: Timestamp,
  /** Changes with each heartbeat. */
  beats: Schema.Int,
  /** The process that does its work now. Its own id if it has closed, and left work behind. */
  endedBy: Schema.optionalKey(Schema.String)
})
export type ProcessRecord = typeof ProcessRecord.Type

export const processRecords = Collection.make({
  name: "process",
  format: 1,
  schema: ProcessRecord,
  key: ({ id }) => id
})
