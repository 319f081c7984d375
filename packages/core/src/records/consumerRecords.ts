import { tagTerms } from "../schema/Tags.ts"
import * as Collection from "../store/Collection.ts"
import { StoredConsumer } from "./Consumer.ts"
import { managerTerm } from "./Manager.ts"

const emails = ({ managers, managerInvites }: StoredConsumer): ReadonlyArray<string> =>
  [...managers, ...managerInvites].flatMap(({ email }) => (email === undefined ? [] : [email]))

/** How consumers are stored: by name, listed by their tags and by their managers' e-mail addresses. */
export const consumerRecords = Collection.make({
  name: "consumer",
  format: 1,
  schema: StoredConsumer,
  key: (consumer) => consumer.name,
  indexTerms: (consumer) => [...new Set([...tagTerms(consumer.tags), ...emails(consumer).map(managerTerm)])]
})
