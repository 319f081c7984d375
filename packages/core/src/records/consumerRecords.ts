import { Collection, tagTerms } from "@tollgate/store/internal"
import { StoredConsumer } from "./Consumer.ts"
import { getConsumerSearchTerms } from "./consumerSearch.ts"
import { managerTerm } from "./Manager.ts"

const getManagerEmails = ({ managers, managerInvites }: StoredConsumer): ReadonlyArray<string> =>
  [...managers, ...managerInvites].flatMap(({ email }) => (email === undefined ? [] : [email]))

/** What a list of consumers can be filtered by: tags and e-mail addresses of managers. */
export const getConsumerTerms = (consumer: StoredConsumer): ReadonlyArray<string> => [
  ...new Set([...tagTerms(consumer.tags), ...getManagerEmails(consumer).map(managerTerm)])
]

/** Consumers with a roll that is not yet written to all keys. */
export const rollingTerm = "rolling"

/** Stores consumers by name; indexed by tag and by manager e-mail address. */
export const consumerRecords = Collection.make({
  name: "consumer",
  format: 1,
  schema: StoredConsumer,
  key: (consumer) => consumer.name,
  indexTerms: (consumer) => [
    ...getConsumerTerms(consumer),
    ...((consumer.rolls?.pending.length ?? 0) > 0 ? [rollingTerm] : [])
  ],
  searchTerms: getConsumerSearchTerms
})
