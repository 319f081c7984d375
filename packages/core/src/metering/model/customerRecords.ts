/**
 * One record for each customer (a consumer that has subscriptions), rewritten with every change to any of the
 * customer's subscriptions. A process that has cached the subscriptions needs to check only the version of this record
 * to detect a change.
 */
import { Effect, Option, Schema } from "effect"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { Change } from "../../store/Store.ts"

const Customer = Schema.Struct({ customerKey: Schema.String })

const customerRecords = Collection.make({
  name: "customer",
  format: 1,
  schema: Customer,
  key: ({ customerKey }) => customerKey
})

export interface CustomerVersion {
  readonly customerKey: string
  /** None if the customer has no subscription. */
  readonly entry: Option.Option<Collection.Entry<typeof Customer.Type>>
}

export const readCustomerVersion = (bucketId: string, customerKey: string) =>
  Effect.map(
    customerRecords.get(Partition.forMeteringBucket(bucketId), customerKey),
    (entry): CustomerVersion => ({ customerKey, entry })
  )

/** A change that gives the customer a new version. Add it to every commit that changes the customer's subscriptions. */
export const bumpCustomerVersion = ({ customerKey, entry }: CustomerVersion): Change =>
  Option.isSome(entry) ? customerRecords.replace(entry.value, { customerKey }) : customerRecords.insert({ customerKey })

/**
 * Changes that remove the customer with its last subscription. A subscription that is created meanwhile changes the
 * customer, so that the commit fails.
 */
export const removeCustomer = ({ entry }: CustomerVersion): ReadonlyArray<Change> =>
  Option.toArray(entry).map(customerRecords.remove)

/** A precondition: the commit fails if any of the customer's subscriptions has changed. */
export const assertCustomerUnchanged = ({ customerKey, entry }: CustomerVersion): Change =>
  Change.Check({ key: customerRecords.recordKey(customerKey), expect: Option.isSome(entry) ? entry.value.version : 0 })
