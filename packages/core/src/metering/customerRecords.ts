/**
 * A mark for each customer, written anew with every change to any of the customer's subscriptions: whoever remembers
 * what they were learns from one version whether it is still so.
 */
import { Effect, Option, Schema } from "effect"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Change } from "../store/Store.ts"

const Customer = Schema.Struct({ customerKey: Schema.String })

const customerRecords = Collection.make({
  name: "customer",
  format: 1,
  schema: Customer,
  key: ({ customerKey }) => customerKey
})

export interface CustomerVersion {
  readonly customerKey: string
  /** None where nothing has been written yet. */
  readonly entry: Option.Option<Collection.Entry<typeof Customer.Type>>
}

export const readCustomerVersion = (bucketId: string, customerKey: string) =>
  Effect.map(
    customerRecords.get(Partition.metering(bucketId), customerKey),
    (entry): CustomerVersion => ({ customerKey, entry })
  )

/** A change that tells everybody that the customer's subscriptions are changing. */
export const bumpCustomerVersion = ({ customerKey, entry }: CustomerVersion): Change =>
  Option.isSome(entry) ? customerRecords.replace(entry.value, { customerKey }) : customerRecords.insert({ customerKey })

/** A change that is refused if they have changed. */
export const assertCustomerUnchanged = ({ customerKey, entry }: CustomerVersion): Change =>
  Change.Check({ key: customerRecords.recordKey(customerKey), expect: Option.isSome(entry) ? entry.value.version : 0 })
