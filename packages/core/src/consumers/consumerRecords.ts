import { termsOf } from "../shared/Tags.ts"
import * as Collection from "../store/Collection.ts"
import { StoredConsumer } from "./Consumer.ts"
import { termOf as managerTerm } from "./Manager.ts"

const emails = ({ managers, managerInvites }: StoredConsumer): ReadonlyArray<string> =>
  [...managers, ...managerInvites].flatMap(({ email }) => (email === undefined ? [] : [email]))

/** How consumers are stored: by name, listed by their tags and by their managers' e-mail addresses. */
export const consumerRecords = Collection.make({
  name: "consumer",
  format: 1,
  schema: StoredConsumer,
  key: (consumer) => consumer.name,
  terms: (consumer) => [...new Set([...termsOf(consumer.tags), ...emails(consumer).map(managerTerm)])]
})
