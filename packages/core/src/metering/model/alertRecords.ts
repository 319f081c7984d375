/**
 * Stores the alerts of a customer in one record, in the partition of a metering bucket. Every commit that adds or removes one
 * also gives the customer a new version, so that every count knows the alerts; what was seen of them changes by itself.
 */

import { Collection } from "@tollgate/store/internal"
import { Schema } from "effect"
import { StoredAlert } from "./Alert.ts"

export const StoredAlerts = Schema.Struct({
  customerKey: Schema.String,
  /** Oldest first. */
  alerts: Schema.Array(StoredAlert),
  /** The number of the next alert. */
  nextNumber: Schema.Int
})
export type StoredAlerts = typeof StoredAlerts.Type

/** The name is stored and cannot change. */
export const alertRecords = Collection.make({
  name: "alerts",
  format: 1,
  schema: StoredAlerts,
  key: ({ customerKey }) => customerKey
})
