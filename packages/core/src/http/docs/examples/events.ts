import type { EventsApi } from "../../../events/EventsApi.ts"
import type { EventJson } from "../../../outbox/Event.ts"
import { created, exampleId, exampleTokenId, pageOf } from "./common.ts"
import type { GroupExamples } from "./Examples.ts"
import { alice } from "./keys.ts"

const event: EventJson = {
  id: exampleId("evt"),
  type: "consumer.created",
  occurredOn: created,
  accountName: "acme",
  actor: { type: "token", id: exampleTokenId },
  subject: { type: "consumer", id: alice.id, name: alice.name },
  data: { ...alice, consumerName: alice.name, keyBucketName: "production" }
}

export const events: GroupExamples<EventsApi> = {
  list: { response: pageOf(event) }
}
