/**
 * One record for each customer, which is a `customerKey` with a subscription or a grant, rewritten with every change to any
 * of the customer's subscriptions and to its credit. A process that has cached the subscriptions needs to check only the
 * version of this record to detect a change.
 */

import {
  Change,
  Collection,
  makeSearchPart,
  type PageRequest,
  Partition,
  type SearchField,
  searchParts,
  toSearchTerms
} from "@tollgate/store/internal"
import { Effect, Option, Schema } from "effect"

const Customer = Schema.Struct({ customerKey: Schema.String })

const getSearchFields = ({ customerKey }: typeof Customer.Type): ReadonlyArray<SearchField> => [
  { field: "customerKey", texts: [customerKey] }
]

export const customerRecords = Collection.make({
  name: "customer",
  format: 1,
  schema: Customer,
  key: ({ customerKey }) => customerKey,
  searchTerms: (customer) => toSearchTerms(getSearchFields(customer))
})

export interface CustomerVersion {
  readonly customerKey: string
  /** `undefined` if the customer has neither a subscription nor a grant. */
  readonly entry: Collection.Entry<typeof Customer.Type> | undefined
}

export const readCustomerVersion = (bucketId: string, customerKey: string) =>
  Effect.map(
    customerRecords.get(Partition.forMeteringBucket(bucketId), customerKey),
    (entry): CustomerVersion => ({ customerKey, entry: Option.getOrUndefined(entry) })
  )

/** A change that gives the customer a new version. Add it to every commit that changes the customer's subscriptions. */
export const bumpCustomerVersion = ({ customerKey, entry }: CustomerVersion): Change =>
  entry === undefined ? customerRecords.insert({ customerKey }) : customerRecords.replace(entry, { customerKey })

/**
 * Changes that remove the customer with its last subscription, if it has no grant. A subscription that is created meanwhile
 * changes the customer, so that the commit fails.
 */
export const removeCustomer = ({ entry }: CustomerVersion): ReadonlyArray<Change> =>
  entry === undefined ? [] : [customerRecords.remove(entry)]

/** A precondition: the commit fails if any of the customer's subscriptions has changed. */
export const assertCustomerUnchanged = ({ customerKey, entry }: CustomerVersion): Change =>
  Change.Check({ key: customerRecords.recordKey(customerKey), expect: entry?.version ?? 0 })

/** A page of the customers of a metering bucket, oldest first. */
export const pageOfCustomers = (bucketId: string, request: PageRequest) =>
  customerRecords.page(Partition.forMeteringBucket(bucketId), { ...request, mayEndEarly: true })

/** What a search finds of customers. */
export const customersPart = <B>(text: string, toItem: (customerKey: string, isExact: boolean) => B) =>
  makeSearchPart(customerRecords, {
    text,
    getFields: getSearchFields,
    toItem: ({ value, isExact }) => toItem(value.customerKey, isExact)
  })

/** The keys of customers that begin with a text: the text itself first, then the newest. */
export const findCustomerKeys = (bucketId: string, text: string, limit: number) =>
  searchParts(Partition.forMeteringBucket(bucketId), limit, [customersPart(text, (customerKey) => customerKey)])
